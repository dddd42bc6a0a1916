"""Budgets of GPU time, a pool's reserve and reservations by the calendar on a real API server."""

import signal
import unittest

from support import BOUND_S, Daemon, shared_testbed, unique, wait_for
from test_maintenance import time_text
from training_jobs import POOL, TrainingJobs


class Budgets(TrainingJobs, unittest.TestCase):
    def start(self, policy):
        self.bed = shared_testbed()
        self.daemon = Daemon({"policy": policy}, bed=self.bed).start()
        self.addCleanup(self.daemon.stop)
        self.namespace = self.bed.create_namespace(unique("budgets"))

    def set_policy(self, policy):
        self.daemon.configuration["policy"] = policy
        self.daemon.write_configuration()
        self.daemon.process.send(signal.SIGHUP)

    def wait_for_message(self, name, words):
        """In what explain says, and in the condition that `kubectl describe pod` shows."""
        wait_for(lambda: words in self.explanation(name), BOUND_S, lambda: f"{words!r} in {self.explanation(name)}")

        def conditions():
            return [condition.get("message", "") for pod in self.pods(name)
                    for condition in pod["status"].get("conditions", []) if condition["type"] == "PodScheduled"]

        wait_for(lambda: any(words in message for message in conditions()), BOUND_S,
                 lambda: f"{words!r} in conditions {conditions()}")

    @staticmethod
    def pool(**changes):
        return {"pools": [{"name": POOL, **changes}]}

    def test_work_starts_only_if_the_budget_has_enough_time_left(self):
        self.start(self.pool(queues=[{"name": "default", "budget": {"gpuHours": 10, "period": "month"}}]))
        self.submit("first", ranks=1, gpus=8, more=", maxRunTime: 1h")
        self.wait_placed("first", 1)
        self.submit("second", ranks=1, gpus=8, more=", maxRunTime: 30m")
        self.wait_for_message("second", "4 requested for up to 30m (maxRunTime)")
        self.assertIn("8 committed to running jobs", self.explanation("second"))
        self.assertEqual(self.placed("second"), {})
        self.assertIn("GPU-HOURS", self.daemon.gpuctl("get", "queues").stdout)

        self.set_policy(self.pool(queues=[{"name": "default", "budget": {"gpuHours": 20, "period": "month"}}]))
        self.wait_placed("second", 1)

    def test_the_reserve_of_a_pool_is_for_services_and_growth(self):
        self.start(self.pool(reserve="50%"))
        self.submit("first", ranks=1, gpus=8)
        self.wait_placed("first", 1)
        self.submit("second", ranks=1, gpus=8)
        self.wait_for_message("second", "8 of 8 GPUs in use (the rest is reserved for services and growing elastic jobs), 8 requested")
        self.assertEqual(self.placed("second"), {})
        self.remove("first")
        self.wait_placed("second", 1)
        self.remove("second")
        self.submit("elastic", ranks=(1, 2), gpus=8)  # one required rank, and one optional
        self.wait_placed("elastic", 2)

    def test_reserved_nodes_take_the_work_of_some_namespaces_only(self):
        start, _ = time_text(-60)
        end, _ = time_text(3600)
        self.start({})
        first_namespace = self.namespace
        theirs = self.bed.create_namespace(unique("paper"))
        node = sorted(node["name"] for node in self.daemon.items("/api/v1/nodes?pageSize=100") if node["pool"] == POOL)[0]
        self.set_policy({"reservations": [{"name": "paper", "nodes": [node], "start": start, "end": end,
                                           "tenants": [theirs]}]})
        wait_for(lambda: "paper" in self.daemon.gpuctl("get", "nodes").stdout, BOUND_S, "the reservation is in force")
        self.submit("wide", ranks=2, gpus=8)
        self.wait_for_message("wide", "reservation paper")
        self.assertEqual(self.placed("wide"), {})
        self.remove("wide")

        self.namespace = theirs
        self.submit("theirs", ranks=2, gpus=8)
        self.wait_placed("theirs", 2)
        self.assertIn(node, self.placed("theirs").values())
        self.remove("theirs")
        self.namespace = first_namespace


if __name__ == "__main__":
    unittest.main()
