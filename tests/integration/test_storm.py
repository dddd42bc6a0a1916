"""kill -9 of the daemon in the middle of a bind storm of gangs.

After each kill and restart: the GPU sum of every node stays within what it has, each gang is there whole or
not at all, the API server accepted exactly one bind per uid, and every acknowledged job is still known.
The storm begins with all gangs there and every node cordoned, so that the daemon dies with binds in flight. More
is asked for than fits, and while the daemon is down urgent gangs arrive: a daemon that forgets what it had assumed gives
those GPUs away twice. A seeded fault does just that, and the harness must detect it.
GPUCTL_STORM_TRIALS (tools/test --trials N) says how often; every tenth trial runs with the default lease."""

import collections
import os
import random
import threading
import time
import unittest

from support import (DEFAULT_LEASE, PREFIX, Daemon, Testbed, create_pod, gpus_per_node, in_threads, pod, wait_for)

TRIALS = int(os.environ.get("GPUCTL_STORM_TRIALS", "3"))
SEED = int(os.environ.get("GPUCTL_STORM_SEED", "20261120"))
NODES, GPUS = 12, 8
GANGS, SIZE = 18, 8  # 144 GPUs wanted, 96 there: twelve gangs fit
URGENT = 12  # created while the daemon is down, ahead of all others: they would fill every node
SETTLE_S = 60
QUIET_S = 1.5  # nothing may move once everything that fits is there
SEEDED_TRIALS_MAX, SEEDED_SETTLE_S = 20, 15
USER = "system:serviceaccount:gpuctl-system:gpuctld"
JOB = """kind: training
job: {name: %s, namespace: %s}
environment: {image: example/train}
resources: {pool: storm-jobs, gpu: 1, cpu: 1, memory: 1Gi, nodeCount: 2}
"""


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(controllers=True).start()
        cls.addClassCleanup(cls.bed.stop)
        names = [cls.bed.create_node(f"storm-{index}", gpus=GPUS, pool="storm") for index in range(NODES)]
        names += [cls.bed.create_node(f"jobs-{index}", gpus=GPUS, pool="storm-jobs") for index in range(2)]
        cls.bed.wait_nodes_ready(names)
        cls.bed.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "metadata": {"name": "storm-urgent"}, "value": 1000}, expect=(201,))

    def test_a_killed_daemon_loses_no_job_and_places_nothing_twice(self):
        chance = random.Random(SEED)
        for trial in range(TRIALS):
            with self.subTest(trial=trial, seed=SEED):
                self.trial(trial, chance, default_lease=TRIALS >= 10 and trial % 10 == 9)

    def test_the_harness_detects_a_daemon_that_forgets_assumed_pods(self):
        chance = random.Random(SEED)
        for trial in range(SEEDED_TRIALS_MAX):
            try:
                self.trial(f"seeded-{trial}", chance, default_lease=False, seeded_fault="forget_assumed_on_recovery",
                           settle_s=SEEDED_SETTLE_S)
            except AssertionError as seen:
                self.assertRegex(str(seen), r"GPUs of storm-\d+: \d+ of 8")
                return
        self.fail(f"{SEEDED_TRIALS_MAX} kills, and nothing was seen")

    def trial(self, trial, chance, default_lease, seeded_fault=None, settle_s=SETTLE_S):
        namespace = self.bed.create_namespace(f"storm-{trial}")
        audit_from = self.bed.audit_size()
        changes = {"cluster": {"kubernetes": {"lease": DEFAULT_LEASE}}} if default_lease else None
        if seeded_fault:  # few at a time, so that bindings are assumed and not sent when the daemon is killed, on any machine
            changes = {"expert": {"kubernetes": {"bindsInFlightMax": 2}}}
        daemon = Daemon(changes, bed=self.bed, seeded_fault=seeded_fault).start()
        acknowledged, stop = [], threading.Event()
        try:
            submitting = threading.Thread(target=self.submit, args=(daemon, namespace, acknowledged, stop), daemon=True)
            submitting.start()
            wait_for(lambda: acknowledged, SETTLE_S, "a first job is acknowledged")
            self.cordon(True)
            self.create_gangs(namespace)
            self.cordon(False)
            wanted = chance.randrange(1, 60)  # bindings done when the daemon is killed
            wait_for(lambda: self.binds_seen(audit_from) >= wanted, SETTLE_S, f"{wanted} binds", every_s=0.001)
            daemon.process.kill()
            stop.set()
            submitting.join(30)
            after_kill = len(self.accepted_binds(audit_from))
            self.create_gangs(namespace, "urgent", URGENT, priorityClassName="storm-urgent")
            again = Daemon(changes, bed=self.bed, folder=daemon.folder, port=daemon.port, seeded_fault=seeded_fault)
            again.start(wait=False)
            daemon = again
            daemon.wait_ready(60)
            self.settled(namespace, daemon, settle_s)
            self.check(namespace, audit_from, daemon, acknowledged, after_kill)
        finally:
            stop.set()
            daemon.stop()
            self.clear(namespace)

    def create_gangs(self, namespace, word="gang", gangs=GANGS, **spec):
        def gang(name):
            for index in range(SIZE):
                create_pod(self.bed, namespace, pod(
                    f"{name}-{index}", gpus=1, pool="storm", labels={f"{PREFIX}/gang": name},
                    annotations={f"{PREFIX}/gang-min": str(SIZE)}, **spec), role="admin")

        names = [f"{word}-{index}" for index in range(gangs)]
        in_threads([lambda part=names[start::4]: [gang(name) for name in part] for start in range(4)])

    def cordon(self, unschedulable):
        """All nodes of the storm at once, so that its binds come at once."""
        in_threads([lambda name=f"storm-{index}": self.bed.api(
            "PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": unschedulable}}, expect=(200,)) for index in range(NODES)])

    @staticmethod
    def submit(daemon, namespace, acknowledged, stop):
        """Submits jobs until the daemon dies; keeps the names that were acknowledged."""
        for number in range(1000):
            if stop.is_set():
                return
            name = f"job-{number}"
            try:
                status, _ = daemon.rest("POST", "/api/v1/jobs", JOB % (name, namespace), timeout=10)
            except OSError:
                return
            if status == 201:
                acknowledged.append(name)
            time.sleep(0.05)

    def binds_seen(self, since):
        """Roughly how many binds of the storm went through, without decoding: this is asked every millisecond."""
        with open(self.bed.folder / "log" / "audit.log", "rb") as log:
            log.seek(since)
            return sum(b'"subresource":"binding"' in line and b'"name":"gang-' in line for line in log)

    def accepted_binds(self, since):
        return [event for event in self.bed.audit_events(USER, since)
                if event.get("objectRef", {}).get("subresource") == "binding" and event["verb"] == "create"
                and event["responseStatus"]["code"] == 201]

    def gangs_bound(self, namespace):
        """gang → bound members, of the bare gangs."""
        count = collections.Counter()
        for item in self.bed.pods(namespace):
            gang = item["metadata"]["labels"].get(f"{PREFIX}/gang", "")
            if gang.startswith(("gang-", "urgent-")):
                count[gang] += bool(item["spec"].get("nodeName"))
        return count

    def settled(self, namespace, daemon, settle_s):
        def whole():
            for node, (used, total) in gpus_per_node(self.bed).items():
                self.assertLessEqual(used, total, f"GPUs of {node}: {used} of {total}")
            count = self.gangs_bound(namespace)
            return len(count) == GANGS + URGENT and all(n in (0, SIZE) for n in count.values()) \
                and sum(n == SIZE for n in count.values()) == NODES * GPUS // SIZE

        def still_whole_after_a_while():
            quiet_until = time.monotonic() + QUIET_S
            while whole():
                if time.monotonic() > quiet_until:
                    return True
                time.sleep(0.1)
            return False

        wait_for(still_whole_after_a_while, settle_s, lambda: f"as many whole gangs as fit: {self.gangs_bound(namespace)}\n"
                 f"{daemon.process.log()[-2000:]}", every_s=0.2)

    def check(self, namespace, audit_from, daemon, acknowledged, after_kill):
        per_uid = collections.Counter()
        for event in self.accepted_binds(audit_from):
            request = event.get("requestObject") or {}
            uid = request.get("metadata", {}).get("uid")
            self.assertTrue(uid, f"a bind names the uid it means: {request}")
            per_uid[uid] += 1
        self.assertEqual({uid: n for uid, n in per_uid.items() if n > 1}, {}, "accepted binds per uid")
        self.assertGreater(len(per_uid), after_kill, "the storm went on after the kill")
        self.assertTrue(acknowledged, "some job was acknowledged before the kill")
        for name in acknowledged:
            status, body = daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={namespace}")
            self.assertEqual(status, 200, f"acknowledged job {name}: {body}")
            found = self.bed.api("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")[0]
            self.assertEqual(found, 200, f"acknowledged job {name} at the API server")

    def clear(self, namespace):
        self.bed.api("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs?propagationPolicy=Background")
        self.bed.api("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
        wait_for(lambda: not self.bed.pods(namespace), SETTLE_S, "the trial's pods are gone", every_s=0.2)


if __name__ == "__main__":
    unittest.main()
