"""Jobs that make room for other jobs, on a real API server: by eviction, as disruption budgets allow."""

import unittest

from support import BOUND_S, PREFIX, RUNNING_S, Daemon, bound, condition, shared_testbed, unique, wait_for
from training_jobs import GRACE_S, POOL, TrainingJobs

LEFT_ALONE_S = 60  # expert.scheduling.backoffMaximum

POLICY = {"policy": {"pools": [{"name": POOL, "queues": [
    {"name": "owners", "guaranteed": 8}, {"name": "guests"}]}]}}


class Disruption(TrainingJobs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(changes=POLICY, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("disruption"))

    def budget(self, name, least):
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        self.bed.api("POST", path, {"metadata": {"name": name}, "spec": {
            "minAvailable": least, "selector": {"matchLabels": {f"{PREFIX}/name": name}}}}, expect=(201,))
        return f"{path}/{name}"

    def test_a_gang_makes_room_by_eviction_when_its_disruption_budget_allows_it(self):
        self.submit("low", ranks=4, gpus=4, priority="low")
        self.wait_placed("low", 4)
        wait_for(lambda: all(pod["status"].get("phase") == "Running" for pod in self.pods("low")), RUNNING_S, "low runs")
        budget = self.budget("low", 4)
        wait_for(lambda: self.bed.get(budget).get("status", {}).get("currentHealthy") == 4, RUNNING_S,
                 lambda: f"the budget counts them: {self.bed.get(budget).get('status')}")
        before = {pod["metadata"]["uid"] for pod in self.pods("low")}
        self.submit("high", ranks=2, gpus=8, priority="high")

        refused = lambda: [event for event in self.bed.audit_events("system:serviceaccount:gpuctl-system:gpuctld")  # noqa: E731
                           if (event.get("objectRef") or {}).get("subresource") == "eviction"
                           and event["objectRef"]["namespace"] == self.namespace
                           and event["responseStatus"]["code"] == 429]
        # Each of the four is tried twice, none is evicted, and all are left alone for a minute.
        wait_for(lambda: len(refused()) >= 8, BOUND_S, lambda: f"asked again; so far {len(refused())} times")
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods("low")}, before)
        self.assertFalse(any(condition(pod, "DisruptionTarget") for pod in self.pods("low")))
        wait_for(lambda: "could not be evicted and stay" in self.explanation("high"), BOUND_S,
                 lambda: self.explanation("high"))
        self.assertEqual(self.placed("high"), {})

        self.bed.api("PATCH", budget, {"spec": {"minAvailable": 0}}, expect=(200,))
        self.wait_placed("high", 2, LEFT_ALONE_S + GRACE_S + BOUND_S)
        wait_for(lambda: not before & {pod["metadata"]["uid"] for pod in self.pods("low")}, RUNNING_S, "all of the gang is gone")
        answer = [event for pod in before for event in self.bed.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
                if event.get("reason") == "Preempted" and event["involvedObject"].get("uid") == pod]
        self.assertTrue(answer, "users get an event")
        self.assertEqual(self.placed("low"), {})
        # A disruption is no failure of the job: its controller creates the ranks again, after its
        # pause.
        status = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/low")["status"]
        self.assertFalse(status.get("failed") or status.get("conditions"), status)

    def test_a_pod_protected_by_a_disruption_budget_is_skipped_for_an_unprotected_one(self):
        for name in ("kept", "free"):
            self.submit(name, ranks=1, gpus=8, priority="low")
            self.wait_running(name, 1)
        budget = self.budget("kept", 1)
        wait_for(lambda: self.bed.get(budget).get("status", {}).get("currentHealthy") == 1, RUNNING_S,
                 lambda: f"the budget counts them: {self.bed.get(budget).get('status')}")
        before = {pod["metadata"]["uid"] for pod in self.pods("kept")}
        self.submit("high", ranks=1, gpus=8, priority="high")
        self.wait_placed("high", 1, GRACE_S + BOUND_S)
        self.assertTrue([event for event in self.bed.audit_events("system:serviceaccount:gpuctl-system:gpuctld")
                         if (event.get("objectRef") or {}).get("subresource") == "eviction"
                         and event["objectRef"]["namespace"] == self.namespace
                         and event["responseStatus"]["code"] == 429], "kept was asked")
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods("kept")}, before)
        wait_for(lambda: not self.placed("free"), RUNNING_S, lambda: f"free is stopped: {bound(self.bed, self.namespace)}")

    def test_a_guaranteed_share_is_reclaimed_from_the_queue_that_borrowed_it(self):
        for index in range(4):
            self.submit(f"guest-{index}", ranks=1, gpus=4, priority="high", more=", queue: guests, preemptible: true")
            self.wait_placed(f"guest-{index}", 1)
        self.submit("owner", ranks=2, gpus=4, priority="low", more=", queue: owners")
        self.wait_placed("owner", 2, GRACE_S + BOUND_S)
        guests = [f"guest-{index}" for index in range(4)]
        wait_for(lambda: sum(len(self.placed(name)) for name in guests) == 2, RUNNING_S,
                 lambda: f"two guests stay: {bound(self.bed, self.namespace)}")
        waiting = next(name for name in guests if not self.placed(name))
        wait_for(lambda: "queue owners reclaimed GPUs that it had lent" in self.explanation(waiting), BOUND_S, lambda: self.explanation(waiting))
        # The rest is within the owners' budgets: no other pod is evicted.
        self.submit("more", ranks=1, gpus=4, priority="low", more=", queue: owners")
        wait_for(lambda: "gpu_insufficient" in self.explanation("more"), BOUND_S, lambda: self.explanation("more"))
        self.assertEqual(sum(len(self.placed(name)) for name in guests), 2)


if __name__ == "__main__":
    unittest.main()
