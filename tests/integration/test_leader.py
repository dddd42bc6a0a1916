"""Leadership: stepping down instead of exiting, a second gpuctld, nothing bound by two."""

import time
import unittest

from support import (BOUND_S, Daemon, bound, create_pod, delete_namespace_pods, pod, shared_testbed,
                     unique, wait_for)

LEASE = "/apis/coordination.k8s.io/v1/namespaces/gpuctl-system/leases/gpuctld"


class Leader(unittest.TestCase):
    def setUp(self):
        self.bed = shared_testbed()
        self.namespace = self.bed.create_namespace(unique("leader"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def holder(self):
        status, lease = self.bed.api("GET", LEASE)
        return lease["spec"].get("holderIdentity") if status == 200 else None

    def start(self, **options):
        daemon = Daemon(bed=self.bed, **options).start()
        self.addCleanup(daemon.stop)
        return daemon

    def bind_one(self, name):
        create_pod(self.bed, self.namespace, pod(name, gpus=0))
        wait_for(lambda: name in bound(self.bed, self.namespace), BOUND_S, f"{name} bound")

    def test_a_stolen_lease_makes_it_step_down_and_not_exit(self):
        daemon = self.start()
        self.bind_one("before")
        thief = "thief"
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        for _ in range(20):  # its own renewals come in between
            lease = self.bed.get(LEASE)
            lease["spec"].update(holderIdentity=thief, acquireTime=now, renewTime=now, leaseDurationSeconds=3600,
                                 leaseTransitions=lease["spec"].get("leaseTransitions", 0) + 1)
            if self.bed.api("PUT", LEASE, lease, expect=(200, 409))[0] == 200:
                break
        # A follower is ready to answer; /readyz?verbose names its leader.
        wait_for(lambda: thief in str(daemon.readiness()), 20, lambda: f"readyz names the holder: {daemon.readiness()}")
        self.assertEqual(self.holder(), thief)
        create_pod(self.bed, self.namespace, pod("during", gpus=0))
        time.sleep(3)  # longer than its lease: a leader would have bound it by now
        self.assertNotIn("during", bound(self.bed, self.namespace))
        self.assertTrue(daemon.process.alive)
        self.assertEqual(daemon.rest("GET", "/livez")[0], 200)
        self.assertEqual(daemon.rest("GET", "/api/v1/nodes")[0], 200)
        self.assertEqual(daemon.rest("GET", "/metrics")[0], 200)
        self.bed.api("DELETE", LEASE, expect=(200,))
        wait_for(lambda: "during" in bound(self.bed, self.namespace), 30, "it leads again and binds what waited")

    def test_a_second_one_waits_and_takes_over_when_the_first_stops(self):
        first = self.start()
        self.bind_one("one")
        leader = self.holder()
        second = Daemon(bed=self.bed)
        second.start(wait=False)
        self.addCleanup(second.stop)
        wait_for(lambda: self._livez(second), 20, "the second one lives")
        self.bind_one("two")
        self.assertEqual(self.holder(), leader)
        self.assertIn(leader, str(second.readiness()))
        self.assertEqual(first.stop(), 0)
        wait_for(lambda: self.holder() not in (None, "", leader), 20, "the second one holds the lease")
        self.bind_one("three")

    def test_a_second_one_takes_over_after_a_kill(self):
        first = self.start()
        self.bind_one("one")
        second = Daemon(bed=self.bed)
        second.start(wait=False)
        self.addCleanup(second.stop)
        wait_for(lambda: self._livez(second), 20, "the second one lives")
        first.process.kill()
        second.wait_ready(20)
        self.bind_one("two")

    def test_a_deleted_lease_is_made_again(self):
        self.start()
        self.bind_one("one")
        self.bed.api("DELETE", LEASE, expect=(200,))
        wait_for(self.holder, 20, "a lease with a holder")
        self.bind_one("two")

    def test_default_timings(self):
        daemon = self.start(changes={"cluster": {"kubernetes": {
            "lease": {"duration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"},
            "bindTimeout": "5s"}}})
        self.bind_one("one")
        self.assertEqual(self.bed.get(LEASE)["spec"]["leaseDurationSeconds"], 15)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(self.holder(), "a clean stop gives the lease back")

    @staticmethod
    def _livez(daemon):
        try:
            return daemon.rest("GET", "/livez")[0] == 200
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
