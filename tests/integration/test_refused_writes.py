"""What a missing right held up goes on when the right is back: binds, conditions and events, on a real API server."""

import copy
import unittest

from support import BOUND_S, PREFIX, Daemon, bound, condition, create_pod, events_about, pod, unique, wait_for
from testbed import Testbed

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpuctld"
PAUSE_S = 5
POLICY = {"expert": {"scheduling": {"backoffMaximum": f"{PAUSE_S}s"}}}


class RefusedWrites(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(kwok=False, controllers=False).start()  # of its own: elsewhere no write is refused
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.create_default_nodes()
        cls.daemon = Daemon(changes=POLICY, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("refused"))
        self.role = self.bed.get(ROLE)
        self.addCleanup(self.grant_all)

    def grant_all(self):
        self.bed.api("PATCH", ROLE, {"rules": self.role["rules"]}, expect=(200,))

    def take_away(self, *resources):
        rules = copy.deepcopy(self.role["rules"])
        for rule in rules:
            rule["resources"] = [one for one in rule.get("resources", []) if one not in resources]
        self.bed.api("PATCH", ROLE, {"rules": [rule for rule in rules if rule["resources"]]}, expect=(200,))
        for resource in resources:
            self.bed.wait_allowed(False, "patch" if resource == "pods/status" else "create", resource)

    def member(self, index):
        return pod(f"g-{index}", gpus=1, pool="training-pool", labels={f"{PREFIX}/gang": "g"}, annotations={f"{PREFIX}/gang-min": "2"})

    def pod(self, name):
        return self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}")

    def test_a_gang_whose_binds_were_forbidden_for_a_while_starts(self):
        self.take_away("pods/binding")
        for index in range(2):
            create_pod(self.bed, self.namespace, self.member(index))
        message = lambda: (condition(self.pod("g-1"), "PodScheduled") or {}).get("message", "")  # noqa: E731
        wait_for(lambda: "was refused" in message(), BOUND_S, lambda: f"its pods say so: {message()}")
        self.assertIn("next attempt in", message())
        self.grant_all()
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, PAUSE_S + BOUND_S, lambda: f"it starts: {message()}")

    def test_conditions_and_events_that_were_forbidden_for_a_while_are_written(self):
        self.take_away("pods/status", "events")
        names = [f"huge-{index}" for index in range(3)]
        for name in names:
            create_pod(self.bed, self.namespace, pod(name, gpus=512, pool="training-pool"))
        log = lambda: self.daemon.process.log()  # noqa: E731
        wait_for(lambda: "the API server refuses pod conditions" in log(), BOUND_S, "the log names conditions")
        wait_for(lambda: "the API server refuses events" in log(), BOUND_S, "the log names events")
        self.assertIn("pods/status", log())
        self.grant_all()
        for name in names:
            message = wait_for(lambda: condition(self.pod(name), "PodScheduled"), BOUND_S, f"{name} has a condition")
            self.assertEqual((message["status"], message["reason"]), ("False", "Unschedulable"))
            self.assertTrue(message.get("lastTransitionTime"), message)
            wait_for(lambda: events_about(self.bed, self.namespace, name), BOUND_S, f"{name} has its event")

    def test_a_namespace_that_is_being_deleted_is_named_and_no_right_is_missed(self):
        pool = unique("late-pool")
        for index in range(2):
            body = self.member(index)
            body["spec"]["nodeSelector"] = {f"{PREFIX}/pool": pool}
            create_pod(self.bed, self.namespace, body)
        message = lambda: (condition(self.pod("g-1"), "PodScheduled") or {}).get("message", "")  # noqa: E731
        wait_for(message, BOUND_S, "they wait for nodes")
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}", expect=(200,))  # nothing here removes what is in it
        self.bed.create_node(f"{pool}-0", gpus=8, pool=pool)
        going = f"namespace {self.namespace} is being terminated; nothing can be created in it"
        wait_for(lambda: going in message(), BOUND_S, lambda: f"its pods say so: {message()}")
        self.assertNotIn("403", message())
        refused = self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, check=False, stdin=(
            "kind: training\njob: {name: late}\nenvironment: {image: a}\nresources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"namespace {self.namespace} is being deleted; choose another namespace", refused.stderr)
        self.assertNotIn("orbidden", refused.stderr)


if __name__ == "__main__":
    unittest.main()
