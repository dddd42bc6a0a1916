"""A gang that ran and lost a node, on a real API server: how long it keeps what does no work."""

import unittest

from support import BOUND_S, Daemon, shared_testbed, unique, wait_for
from training_jobs import GRACE_S, POOL, TrainingJobs

REPAIR_S = 10
POLICY = {"policy": {"gangRepairDeadline": f"{REPAIR_S}s", "pools": [{"name": POOL}]}}


class Stranded(TrainingJobs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(changes=POLICY, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("stranded"))

    def cordon(self, node, closed):
        self.bed.api("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": closed}}, expect=(200,))

    def test_a_gang_that_fits_on_the_stranded_capacity_gets_it_after_the_deadline(self):
        self.submit("wide", ranks=2, gpus=8)
        self.wait_placed("wide", 2)
        self.wait_running("wide", 2)
        lost, node = next(iter(self.placed("wide").items()))
        self.addCleanup(self.cordon, node, None)
        self.cordon(node, True)
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{lost}", {"gracePeriodSeconds": 0}, expect=(200, 202))
        wait_for(lambda: "a job that fits on the room of this gang may preempt it" in self.explanation("wide"), GRACE_S + BOUND_S,
                 lambda: self.explanation("wide"))
        self.assertIn("gang_half_bound", self.explanation("wide"))

        # It may preempt no running job, and its own priority is the lowest.
        self.submit("little", ranks=1, gpus=4, priority="low")
        self.wait_placed("little", 1, REPAIR_S + GRACE_S + BOUND_S)
        wait_for(lambda: not self.placed("wide"), GRACE_S + BOUND_S, lambda: f"nothing of it is left: {self.placed('wide')}")
        wait_for(lambda: "ranks of its gang had been missing for" in self.explanation("wide"), BOUND_S, lambda: self.explanation("wide"))

        self.remove("little")
        self.cordon(node, None)
        self.wait_placed("wide", 2, GRACE_S + BOUND_S)


if __name__ == "__main__":
    unittest.main()
