"""The program behind tools/test: builds, runs every suite, counts, and reports what failed and why."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import run_integration

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
CORES = os.cpu_count() or 2
# One ASan+UBSan build for all C++ tests; release for what integration, quickstart and benches start;
# TSan for what has threads (the loop and its offload pool, the journal that writes on it, the replica).
TSAN_TESTS = ["aio_tests", "core_tests", "journal_tests"]
SUITE_DEADLINE_S = 1800  # long, because tests that only compute have a low priority
# Programs that only compute run with low priority, because tests with deadlines run at the same time.
YIELDING = ["nice", "-n", "15"]
# Suites that take minutes, and the number of parts into which they are divided.
SHARDS = {"property_tests": 5}
# Nearly 2.2 million steps: a minute on two cores, less than two while other tests run.
SIMULATION_SEEDS = 1_100
DECISIONS_BLOCK = 20
SIMULATION_STEPS_MIN = 2_000_000


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.began = time.monotonic()

    def fail(self, name, output=""):
        self.failed.append(name)
        print(f"  FAILED {name}")
        for line in output.strip().splitlines()[-60:]:
            print(f"    | {line}")

    def close(self):
        if self.failed:
            print("\nfailed:")
            for name in self.failed:
                print(f"  {name}")
        print(f"\nafter {time.monotonic() - self.began:.0f} s")
        print(f"{self.passed} passed, {len(self.failed)} failed")
        return 1 if self.failed else 0


def step(text):
    print(f"\n== {text}", flush=True)


def build(tally, preset, targets=()):
    """Configures once and builds; a build that fails is one failed test with the output of the compiler."""
    step(f"building {preset} ({', '.join(targets) or 'everything'})")
    began = time.monotonic()
    folder = REPOSITORY / "build" / preset
    if not (folder / "build.ninja").exists():
        done = subprocess.run(["cmake", "--preset", preset, "-Wno-dev"], cwd=REPOSITORY, capture_output=True, text=True)
        if done.returncode != 0:
            tally.fail(f"configure {preset}", done.stdout + done.stderr)
            return None
    child = subprocess.Popen(["ninja", "-C", str(folder), "-k", "0", *targets], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, env={**os.environ, "NINJA_STATUS": "[%f/%t] "})
    lines, shown = [], time.monotonic()
    for line in child.stdout:
        lines.append(line)
        if line.startswith("[") and time.monotonic() - shown > 15:
            print(f"  {line.strip()[:110]}", flush=True)
            shown = time.monotonic()
    if child.wait() != 0:
        wrong = [line for line in lines if not line.startswith("[")]
        tally.fail(f"build {preset}", "".join(wrong[:60]))
        return None
    print(f"  built in {time.monotonic() - began:.0f} s")
    return folder


def registered_tests(folder):
    """(name, command) of everything CTest knows of."""
    answer = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, capture_output=True, text=True, check=True)
    return [(test["name"], test["command"]) for test in json.loads(answer.stdout)["tests"] if "command" in test]


def errors_of(done):
    """The end of standard error of a program: the counterexample of a property and the seed that reproduces it."""
    lines = done.stderr.splitlines()
    seeds = [line for line in lines[:-40] if line.startswith("Using configuration")]
    return "\n".join(seeds + lines[-40:])


def run_suite(name, command, shard, words):
    """(seconds, passed, [(failed name, output)]) of one registered test; GoogleTest ones case by case."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        environment = {**os.environ, "GTEST_OUTPUT": f"json:{report}", "TMPDIR": scratch,
                       "ASAN_OPTIONS": "detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
        if shard[1] > 1:
            environment.update(GTEST_SHARD_INDEX=str(shard[0]), GTEST_TOTAL_SHARDS=str(shard[1]))
        if words:
            environment["GTEST_FILTER"] = ":".join(f"*{word}*" for word in words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment,
                                  stdin=subprocess.DEVNULL, timeout=SUITE_DEADLINE_S, cwd=REPOSITORY)
            code, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            code, output = None, (late.stdout or b"").decode(errors="replace")
        seconds = time.monotonic() - began
        if code is None:
            return seconds, 0, [(name, output + f"\nnot done within {SUITE_DEADLINE_S} s")]
        if not report.exists():
            return seconds, int(code == 0), [] if code == 0 else [(name, output + f"\nexit code {code}")]
        passed, failed = 0, []
        for suite in json.loads(report.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                if case["status"] != "RUN":
                    continue
                title = f"{name} {case['classname']}.{case['name']}"
                if case.get("failures"):
                    what = "\n".join(failure["failure"] for failure in case["failures"])
                    failed.append((title, f"{what}\n{errors_of(done)}"))
                elif case["result"] == "SKIPPED":
                    failed.append((title, "skipped: a test that does not run proves nothing"))
                else:
                    passed += 1
        if code != 0 and not failed:
            failed.append((name, output + f"\nexit code {code}"))
        return seconds, passed, failed


def unit_tests(tally, words):
    """Every registered test under ASan and UBSan, tests with threads under TSan, too. Long suites begin first, in shards."""
    tasks = []
    for preset, only in (("asan-ubsan", None), ("tsan", TSAN_TESTS)):
        folder = build(tally, preset, only or ())
        for name, command in registered_tests(folder) if folder else ():
            if only is None or name in only:
                shards = SHARDS.get(name, 1)
                tasks += [(f"{name}, {preset}" + (f", {shard + 1} of {shards}" if shards > 1 else ""), command, (shard, shards))
                          for shard in range(shards)]
    tasks.sort(key=lambda task: -task[2][1])
    step("unit tests")
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        waiting = {pool.submit(run_suite, *task, words): task[0] for task in tasks}
        for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            seconds, passed, failed = future.result()
            tally.passed += passed
            print(f"  [{number}/{len(tasks)}] {waiting[future]}: {passed} passed, {len(failed)} failed ({seconds:.1f} s)",
                  flush=True)
            for name, output in failed:
                tally.fail(name, output)


def tidy(tally):
    """The rules that no compiler checks: arrows, bans, formatting. It counts as one test."""
    program = REPOSITORY / "tools" / "tidy"
    if not program.exists():
        return
    step("tidy")
    done = subprocess.run([str(program)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        tally.passed += 1
        print("  clean")
    else:
        tally.fail("tidy", done.stdout + done.stderr)


class Progress(unittest.TestResult):
    """Prints one line when a test ends; each failed sub-test counts."""

    def __init__(self, tally, total):
        super().__init__()
        self.tally, self.total, self.number, self.bad = tally, total, 0, False

    def startTest(self, test):
        super().startTest(test)
        self.number += 1
        self.bad = False
        self.began = time.monotonic()
        print(f"  [{self.number}/{self.total}] {self.name(test)} ...", end=" ", flush=True)

    @staticmethod
    def name(test):
        return test.id().removeprefix("test_")

    def stopTest(self, test):
        super().stopTest(test)
        if not self.bad:
            self.tally.passed += 1
            print(f"ok ({time.monotonic() - self.began:.1f} s)", flush=True)

    def _wrong(self, test, error):
        if not self.bad:
            print(f"FAILED ({time.monotonic() - getattr(self, 'began', time.monotonic()):.1f} s)")
        self.bad = True
        self.tally.fail(self.name(test), self._exc_info_to_string(error, test))

    def addError(self, test, err):
        self._wrong(test, err)

    def addFailure(self, test, err):
        self._wrong(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._wrong(subtest, err)

    def addSkip(self, test, reason):
        print("skipped, counted as failed")
        self.bad = True
        self.tally.fail(self.name(test), f"skipped: {reason}")


def tool_tests(tally):
    """The tools' own tests."""
    step("tests of the tools")
    folder = REPOSITORY / "tests" / "tools"
    tests = list(run_integration.flatten(unittest.TestLoader().discover(str(folder), "test_*.py", str(folder))))
    unittest.TestSuite(tests).run(Progress(tally, len(tests)))


def build_simulation(tally):
    return build(tally, "release", ["bench/gpuctl-simulate", "fault_tests"])


def problem_with_decisions(blocks, golden):
    """Why hashes of blocks of seeds, {"1..20": hash}, are not those of the text of decisions.txt; "" if they are."""
    recorded, seeds_of = {}, {}
    for seeds, found in (line.split() for line in golden.splitlines()):
        if found in seeds_of:
            return (f"tests/golden/decisions.txt has one hash for seeds {seeds_of[found]} and {seeds}: it was written by a "
                    "run that did not simulate them")
        recorded[seeds], seeds_of[found] = found, seeds
    if not blocks:
        return "the run listed no decisions"
    for seeds, found in blocks.items():
        if seeds not in recorded:
            return f"tests/golden/decisions.txt lacks seeds {seeds}"
        if recorded[seeds] != found:
            return f"decisions differ from tests/golden/decisions.txt, first in seeds {seeds}"
    return ""


def compare_decisions(tally, report):
    """Decisions must change only on purpose: a refactoring changes no hash. A run with a violation has failed already."""
    if report["violations"]:
        return
    blocks = report.get("decisionBlocks", {})
    problem = problem_with_decisions(blocks, (REPOSITORY / "tests" / "golden" / "decisions.txt").read_text())
    if problem:
        tally.fail("decisions", f"{problem}. If decisions were to change: "
                   f"./tools/simulate --seeds 1..2000 --decisions {DECISIONS_BLOCK} > tests/golden/decisions.txt")
    else:
        tally.passed += 1
        print(f"  decisions of {len(blocks)} blocks of seeds as in tests/golden/decisions.txt", flush=True)


def simulation(tally, folder):
    """Random worlds from seeds with every step checked; then every seeded fault, caught by the same checker."""
    if folder is None:
        return
    step(f"simulation: {SIMULATION_SEEDS} seeds, those of bench/simulate/open_seeds.hpp left out")
    done = subprocess.run([*YIELDING, str(folder / "bench" / "gpuctl-simulate"), "--seeds", f"1..{SIMULATION_SEEDS}",
                           "--skip-open", "--decisions", str(DECISIONS_BLOCK), "-o", "json"],
                          capture_output=True, text=True, timeout=SUITE_DEADLINE_S, cwd=REPOSITORY, check=False)
    report = json.loads(done.stdout) if done.returncode in (0, 1) else {"violations": [], "counts": {"steps": 0}}
    steps = report["counts"]["steps"]
    # Each fault and each check must have occurred, or the simulation proves less than it claims.
    for wrong in report["violations"]:
        tally.fail(f"simulation seed {wrong['seed']}", f"{wrong['invariant']}: {wrong['what']}\nrepeat: {wrong['repeat']}")
    never = sorted(name for name, count in report["counts"].items() if count == 0)
    if done.returncode == 0 and never:
        tally.fail("simulation", f"never occurred, so the run proves nothing about: {', '.join(never)}")
    elif done.returncode == 0 and steps >= SIMULATION_STEPS_MIN:
        tally.passed += 1
        print(f"  {steps} steps in {report['seconds']:.0f} s, no violation", flush=True)
    elif not report["violations"]:
        tally.fail("simulation", f"exit code {done.returncode} after {steps} steps\n{done.stderr}")
    if done.returncode in (0, 1):
        compare_decisions(tally, report)
    seconds, passed, failed = run_suite("fault_tests", [*YIELDING, str(folder / "tests" / "fault_tests")], (0, 1), [])
    tally.passed += passed
    print(f"  fault_tests: {passed} passed, {len(failed)} failed ({seconds:.1f} s)", flush=True)
    for name, output in failed:
        tally.fail(name, output)


def build_kubernetes(tally):
    """Builds it before any test waits for it, because a complete build takes longer than a test may."""
    step("building Kubernetes for the tests, if it is missing")
    began = time.monotonic()
    sys.path.insert(0, str(REPOSITORY / "tests" / "testbed"))
    import binaries  # of the testbed, which uses nothing else of the repository
    try:
        binaries.build()
    except SystemExit as error:
        tally.fail("build Kubernetes", str(error))
        return False
    print(f"  built in {time.monotonic() - began:.0f} s", flush=True)
    return True


def integration_tests(tally, words, meanwhile=None):
    """`meanwhile` computes while most of these tests wait for the API server."""
    if not build_kubernetes(tally):
        return
    if build(tally, "release", ["gpuctld", "gpuctl", "gpuctld-faults"]) is None:
        return
    step(f"integration: the real API server, real processes, real Prometheus, {CORES} classes at a time")
    done = 0

    def report(test, seconds, wrong):
        nonlocal done
        done += 1
        print(f"  [{done}] {test.removeprefix('test_')} {'FAILED' if wrong else 'ok'} ({seconds:.1f} s)", flush=True)
        if wrong:
            tally.fail(test.removeprefix("test_"), wrong)
        else:
            tally.passed += 1

    total = run_integration.run(words, CORES, report, meanwhile)
    if done < total:
        tally.fail("integration", f"{total - done} of {total} tests reported nothing")


def main():
    parser = argparse.ArgumentParser(prog="tools/test")
    parser.add_argument("--unit", action="store_true", help="only the C++ tests")
    parser.add_argument("--integration", action="store_true", help="only the tests against real parts")
    parser.add_argument("-k", dest="words", nargs="+", default=[], metavar="WORD", help="only tests with that in the name")
    parser.add_argument("--trials", type=int, default=3, help="kills of the daemon in the bind storm")
    options = parser.parse_args()
    os.environ["GPUCTL_STORM_TRIALS"] = str(options.trials)
    os.environ.setdefault("GPUCTL_PATIENCE", "3")
    sys.stdout.reconfigure(line_buffering=True)
    tally = Tally()
    if not options.integration and not options.words:
        tidy(tally)
        tool_tests(tally)
    if not options.integration:
        unit_tests(tally, options.words)
    folder = None
    if not options.integration and not options.words:
        folder = build_simulation(tally)

    def meanwhile():
        try:
            simulation(tally, folder)
        except Exception as error:  # in a thread: otherwise the error would be lost
            tally.fail("simulation", repr(error))

    if options.unit:
        meanwhile()
    else:
        integration_tests(tally, options.words, meanwhile)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
