"""Runs the tests against real programs, several classes at a time: each worker is a process with a Kubernetes of its
own, so that classes in two workers cannot affect each other. All tests of a class run in one worker."""

import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import sys
import threading
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / "tests" / "integration"
CLASS_DEADLINE_S = 900
# Classes that take long begin first: otherwise one worker is busy at the end while other workers have nothing to do.
LONG = ("test_testbed", "test_samples", "test_outage", "test_storm", "test_http", "test_faults", "test_elastic", "test_maintenance")
# Checks what all other tests have sent, so it runs when they have ended.
LAST = ("test_zz_rbac",)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def find_tests(words):
    """{class: [test id]} of everything whose name contains one of the words (all tests if there are no words)."""
    sys.path[:0] = [str(FOLDER), str(REPOSITORY / "tests" / "testbed")]
    sys.dont_write_bytecode = True
    classes = {}
    for test in flatten(unittest.TestLoader().discover(str(FOLDER), "test_*.py", str(FOLDER))):
        if not words or any(word in test.id() for word in words):
            name = test.id().rpartition(".")[0]
            classes.setdefault(name, []).append(test.id())
    return classes


class Report(unittest.TestResult):
    """Sends (test, seconds, what went wrong or None) for each test; a class that cannot be set up counts once."""

    def __init__(self, send):
        super().__init__()
        self.send, self.began, self.wrong = send, time.monotonic(), []

    def startTest(self, test):
        super().startTest(test)
        self.began, self.wrong = time.monotonic(), []

    def stopTest(self, test):
        super().stopTest(test)
        self.send((test.id(), time.monotonic() - self.began, "\n".join(self.wrong) or None))
        self.wrong = []

    def _note(self, test, text):
        if hasattr(test, "_testMethodName") or hasattr(test, "test_case"):
            self.wrong.append(text)
        else:  # setUpClass, tearDownClass: it belongs to no test
            self.send((test.id(), time.monotonic() - self.began, text))

    def addError(self, test, err):
        self._note(test, self._exc_info_to_string(err, test))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._note(subtest, self._exc_info_to_string(err, subtest))

    def addSkip(self, test, reason):
        self._note(test, f"skipped, which proves nothing: {reason}")


def work(pipe):
    """A worker: runs the classes that it receives until it receives None. After each class it reports its audit log."""
    import support
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the clusters that it started are stopped
    try:
        while True:
            task = pipe.recv()
            if task is None:
                break
            tests, audit_logs = task
            os.environ["GPUCTL_AUDIT_LOGS"] = os.pathsep.join(audit_logs)
            unittest.TestLoader().loadTestsFromNames(tests).run(Report(lambda line: pipe.send(("test", line))))
            bed = support._shared.get("bed")
            pipe.send(("free", str(bed.folder / "log" / "audit.log") if bed else ""))
    finally:
        support.stop_shared()


class Worker:
    def __init__(self):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work, args=(theirs,))
        self.process.start()
        theirs.close()
        self.running, self.since, self.audit_log = None, 0.0, ""

    def give(self, name, tests, audit_logs=()):
        self.running, self.since = name, time.monotonic()
        self.pipe.send((tests, list(audit_logs)))

    def stop(self):
        try:
            self.pipe.send(None)
        except OSError:
            pass
        self.process.join(60)
        if self.process.is_alive():
            self.process.kill()


def drain(workers, waiting, report):
    """Gives classes to idle workers until no class is left and all workers are idle. Calls `report(test, seconds, wrong)` for
    each test."""
    while True:
        for worker in [each for each in workers if each.running is None and waiting]:
            worker.give(*waiting.pop(0))
        busy = [worker for worker in workers if worker.running is not None]
        if not busy:
            return
        ready = multiprocessing.connection.wait([worker.pipe for worker in busy], 5)
        for worker in busy:
            if worker.pipe in ready:
                listen(worker, workers, report)
            elif time.monotonic() - worker.since > CLASS_DEADLINE_S:
                report(worker.running, CLASS_DEADLINE_S, f"not done within {CLASS_DEADLINE_S} s")
                worker.process.terminate()
                workers.remove(worker)


def listen(worker, workers, report):
    try:
        kind, value = worker.pipe.recv()
    except EOFError:
        report(worker.running, time.monotonic() - worker.since, "the process that ran it is gone")
        workers.remove(worker)
        return
    if kind == "test":
        report(*value)
    else:
        worker.running, worker.audit_log = None, value


def run(words, count, report, meanwhile=None):
    """Runs all classes in `count` workers; then the classes of LAST, which get the paths of all audit logs. `meanwhile` runs in
    a thread that starts when all processes are forked."""
    classes = find_tests(words)
    order = sorted(classes, key=lambda name: next((at for at, word in enumerate(LONG) if name.startswith(word)), len(LONG)))
    first = [(name, classes[name]) for name in order if not name.startswith(LAST)]
    last = [(name, classes[name]) for name in order if name.startswith(LAST)]
    workers = [Worker() for _ in range(min(count, max(1, len(first))))]
    everyone = list(workers)
    thread = threading.Thread(target=meanwhile or (lambda: None))
    thread.start()
    try:
        drain(workers, first, report)
        for name, tests in first:  # no worker is left
            report(name, 0.0, f"{len(tests)} tests were not run: no worker is left")
        if last and workers:
            logs = [worker.audit_log for worker in workers[1:] if worker.audit_log]
            drain(workers[:1], [(name, tests, logs) for name, tests in last], report)
    finally:
        for worker in everyone:
            worker.stop()
        thread.join()
    return sum(len(tests) for tests in classes.values())
