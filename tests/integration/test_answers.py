"""Long queries are answered outside the event loop, by a second engine (docs/adr/0032), and the journal's snapshots are
made there: the loop never writes out a large state, an answer is about what was acknowledged before it was asked, and a
daemon that is killed while it makes a snapshot loses nothing."""

import http.client
import json
import random
import re
import threading
import unittest

from support import Daemon, in_threads, wait_for

JOBS = 20_000
CLIENTS = 8
NODES = [{"name": "gpu", "count": 25, "pool": "training-pool", "gpus": 8, "cpuCores": 64, "memoryGib": 512}]
JOB = """kind: training
job: {name: %s}
environment: {image: example/train}
resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}
"""


def metric(daemon, name):
    text = daemon.rest("GET", "/metrics")[1]
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


class Client:
    """One connection that is kept open."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=None):
        self._connection.request(method, path, body, {"Content-Type": "application/yaml"} if body else {})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def create(self, name):
        status, body = self.ask("POST", "/api/v1/jobs", JOB % name)
        if status != 201:
            raise AssertionError(f"create {name}: {status} {body}")

    def close(self):
        self._connection.close()


class ManyJobs(unittest.TestCase):
    """One daemon for all tests of the class: to submit this number of jobs takes longest."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon({"cluster": {"embedded": {"nodes": NODES, "trainingRunTime": "10d"}},
                             "policy": {"pools": [{"name": "training-pool"}]}})
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)

        def submit(first):
            client = Client(cls.daemon.port)
            for number in range(first, JOBS, CLIENTS):
                client.create(f"job-{number}")
            client.close()

        in_threads([lambda first=first: submit(first) for first in range(CLIENTS)])

    def ask(self, method, path, body=None):
        status, answer = self.daemon.rest(method, path, body, timeout=60)
        self.assertEqual(status, 200, answer)
        return answer

    def test_what_if_explain_and_remedies_are_answered_and_the_loop_never_exports_the_state(self):
        before = self.ask("POST", "/api/v1/what-if", JOB % "another")
        self.assertFalse(before["starts"])
        self.assertGreater(before["revision"], JOBS)
        explained = self.ask("GET", f"/api/v1/jobs/job-{JOBS - 1}/explain")
        self.assertNotIn("incomplete", explained)
        self.assertTrue(explained["blockers"])
        self.assertGreaterEqual(explained["revision"], before["revision"])
        self.ask("GET", f"/api/v1/jobs/job-{JOBS - 1}/remedies")
        snapshot = self.daemon.rest("GET", "/debug/snapshot", timeout=60)
        self.assertEqual(snapshot[0], 200)
        self.assertEqual(metric(self.daemon, "gpuctld_loop_state_exports_total"), 0)
        self.assertEqual(metric(self.daemon, "gpuctld_replica"), 1)

    def test_probes_are_answered_while_a_query_is_computed(self):
        answered = threading.Event()
        probes = []

        def probe():
            client = Client(self.daemon.port)
            while not answered.is_set():
                status, _ = client.ask("GET", "/livez")
                probes.append(status)
            client.close()

        def question():
            try:
                self.ask("POST", "/api/v1/what-if", JOB % "yet-another")
            finally:
                answered.set()

        in_threads([probe, question])
        self.assertEqual(set(probes), {200})
        self.assertGreater(len(probes), 100, "the loop answers nothing else while a question is tried")

    def test_an_answer_includes_every_acknowledged_change(self):
        for number in range(5):
            client = Client(self.daemon.port)
            client.create(f"late-{number}")
            status, body = client.ask("GET", f"/api/v1/jobs/late-{number}/explain")
            self.assertEqual(status, 200, body)
            explained = json.loads(body)
            self.assertNotIn("incomplete", explained)
            self.assertEqual(explained["status"], "Pending")
            # Its name is also taken in the simulated state.
            status, body = client.ask("POST", "/api/v1/what-if", JOB % f"late-{number}")
            self.assertEqual(status, 409, body)
            client.close()


class KilledWhileItMakesSnapshots(unittest.TestCase):
    KILLS = 6

    def test_every_job_that_was_acknowledged_is_there_after_each_kill(self):
        daemon = Daemon({"cluster": {"embedded": {"nodes": NODES, "trainingRunTime": "10d"}},
                         "policy": {"pools": [{"name": "training-pool"}]},
                         "expert": {"journal": {"snapshotEveryInputs": 400, "segmentBytesMax": "64Ki"}}})
        daemon.start()
        self.addCleanup(daemon.stop)
        rng = random.Random(35)
        acknowledged = []
        for kill in range(self.KILLS):
            wanted = len(acknowledged) + rng.randint(300, 700)

            def submit(first, wanted=wanted, kill=kill):
                client = Client(daemon.port)
                number = first
                try:
                    while len(acknowledged) < wanted:
                        client.create(f"job-{kill}-{number}")
                        acknowledged.append(f"job-{kill}-{number}")
                        number += CLIENTS
                except (OSError, http.client.HTTPException):
                    pass  # killed meanwhile

            def end(wanted=wanted):
                wait_for(lambda: len(acknowledged) >= wanted - 50, 60, "jobs being submitted")
                daemon.process.kill()

            in_threads([end, *(lambda first=first: submit(first) for first in range(CLIENTS))])
            daemon.process.wait(10)
            daemon.start()
            there = self.names(daemon)
            self.assertEqual([name for name in acknowledged if name not in there], [])
        wait_for(lambda: list((daemon.folder / "journal").rglob("snapshot-*.bin")), 30, "a snapshot")

    @staticmethod
    def names(daemon):
        found, page = set(), 1
        while True:
            body = daemon.get(f"/api/v1/jobs?view=job&pageSize=100&page={page}")
            found.update(item["name"] for item in body["items"])
            if len(found) >= body["total"] or not body["items"]:
                return found
            page += 1


if __name__ == "__main__":
    unittest.main()
