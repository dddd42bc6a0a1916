"""A Kubernetes user's own pods with schedulerName gpuctl, next to those of other schedulers."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, bound, condition, create_pod, delete_namespace_pods, events_about,
                     node_of, pod, shared_testbed, unique, wait_for)


class Pods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("pods"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create(self, *bodies):
        for body in bodies:
            create_pod(self.bed, self.namespace, body)

    def wait_bound(self, count):
        return wait_for(lambda: (lambda now: now if len(now) == count else None)(bound(self.bed, self.namespace)), BOUND_S,
                        lambda: f"{count} pods bound; bound are {bound(self.bed, self.namespace)}")

    def quiet(self, name, rounds=10):
        """The pod stays unbound while another one, created after it, is bound: the scheduler has looked at both."""
        for index in range(rounds):
            witness = unique("witness")
            self.create(pod(witness, gpus=0))
            wait_for(lambda: node_of(self.bed, self.namespace, witness), BOUND_S, f"{witness} bound")
            self.assertIsNone(node_of(self.bed, self.namespace, name), f"after {index + 1} later pods")

    def test_a_lone_pod_is_bound_and_runs(self):
        self.create(pod("a", gpus=2, pool="training-pool"))
        node = self.wait_bound(1)["a"]
        self.assertTrue(node.startswith("training-"), node)
        wait_for(lambda: self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/a")["status"].get("phase") == "Running",
                 BOUND_S, "the pod runs")

    def test_a_pod_without_pool_stays_off_pooled_nodes(self):
        self.create(pod("a", gpus=0))
        self.assertEqual(self.wait_bound(1), {"a": "default-0"})

    def test_pods_of_other_schedulers_are_not_bound(self):
        self.create(pod("other", scheduler="another-scheduler", gpus=0))
        self.quiet("other", rounds=2)

    def test_foreign_pods_hold_room(self):
        foreign = pod("foreign", gpus=6, scheduler="another-scheduler")
        foreign["spec"]["nodeName"] = "training-0"
        foreign["spec"]["nodeSelector"] = {f"{PREFIX}/pool": "training-pool"}
        create_pod(self.bed, self.namespace, foreign, role="admin")
        self.create(pod("big", gpus=4, pool="training-pool"))
        self.assertEqual(self.wait_bound(2)["big"], "training-1")
        self.create(pod("small", gpus=2, pool="training-pool"), pod("second", gpus=4, pool="training-pool"))
        self.wait_bound(4)
        self.create(pod("none-left", gpus=1, pool="training-pool"))
        self.quiet("none-left", rounds=2)

    def test_what_does_not_fit_has_a_condition_and_an_event(self):
        self.create(pod("huge", gpus=64, pool="training-pool"))

        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/huge"), "PodScheduled")
            return found if found and found["status"] == "False" else None

        found = wait_for(said, BOUND_S, "PodScheduled=False")
        self.assertEqual(found["reason"], "Unschedulable")
        self.assertIn("64", found["message"])
        event = wait_for(
            lambda: next((e for e in events_about(self.bed, self.namespace, "huge") if e["reason"] == "FailedScheduling"), None),
            BOUND_S, lambda: f"FailedScheduling; there are {events_about(self.bed, self.namespace, 'huge')}")
        self.assertEqual(event["type"], "Warning")
        self.assertEqual(event.get("reportingComponent") or event["source"]["component"], "gpuctl")

    def test_a_pod_waits_until_room_is_freed_and_then_starts(self):
        self.create(pod("first", gpus=4, pool="experiment-pool"))
        self.wait_bound(1)
        self.create(pod("second", gpus=4, pool="experiment-pool"))
        self.quiet("second", rounds=2)
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/first", as_role="alice", expect=(200,))
        wait_for(lambda: node_of(self.bed, self.namespace, "second"), BOUND_S, "the second pod bound")

    def test_a_finished_pod_frees_its_room(self):
        self.create(pod("brief", gpus=4, pool="experiment-pool", annotations={"testbed.gpuctl.dev/run-time": "1s"}),
                    pod("next", gpus=4, pool="experiment-pool"))
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "both bound, one after the other")

    def test_scheduling_gates_are_honoured(self):
        self.create(pod("gated", gpus=1, pool="dev-pool", schedulingGates=[{"name": "example.com/wait"}]))
        self.quiet("gated", rounds=2)
        self.bed.api("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/gated", {"spec": {"schedulingGates": None}},
                     as_role="alice", expect=(200,))
        wait_for(lambda: node_of(self.bed, self.namespace, "gated"), BOUND_S, "bound once the gate is gone")

    def test_node_selector_affinity_and_taints_are_obeyed(self):
        tainted = self.bed.create_node(unique("tainted"), gpus=1, pool="taint-pool",
                                       taints=[{"key": "example.com/only", "value": "x", "effect": "NoSchedule"}])
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/nodes/{tainted}")
        self.bed.wait_nodes_ready([tainted])
        self.create(pod("not-tolerating", pool="taint-pool"))
        self.quiet("not-tolerating", rounds=2)
        self.create(pod("tolerating", pool="taint-pool",
                        tolerations=[{"key": "example.com/only", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]))
        wait_for(lambda: node_of(self.bed, self.namespace, "tolerating") == tainted, BOUND_S, "the tolerating pod bound")
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["training-1"]}]}]}}}
        self.create(pod("affine", pool="training-pool", affinity=affinity))
        wait_for(lambda: node_of(self.bed, self.namespace, "affine") == "training-1", BOUND_S, "the pod is where it wants to be")

    def test_a_cordoned_node_gets_nothing_until_it_is_back(self):
        self.bed.api("PATCH", "/api/v1/nodes/experiment-0", {"spec": {"unschedulable": True}}, expect=(200,))
        self.addCleanup(self.bed.api, "PATCH", "/api/v1/nodes/experiment-0", {"spec": {"unschedulable": None}})
        self.create(pod("waits", pool="experiment-pool"))
        self.quiet("waits", rounds=2)
        self.bed.api("PATCH", "/api/v1/nodes/experiment-0", {"spec": {"unschedulable": None}}, expect=(200,))
        wait_for(lambda: node_of(self.bed, self.namespace, "waits") == "experiment-0", BOUND_S, "bound after the uncordon")

    def test_it_appears_in_the_daemons_own_lists(self):
        self.create(pod("seen", gpus=3, pool="inference-pool"))
        self.wait_bound(1)
        job = wait_for(lambda: next((row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}")
                                     if row["status"] == "Running"), None), BOUND_S, "the job is listed as Running")
        self.assertEqual(job["node"], "inference-0")
        pool = next(row for row in self.daemon.items("/api/v1/pools") if row["name"] == "inference-pool")
        self.assertEqual((pool["gpuTotal"], pool["gpuUsed"], pool["gpuFree"]), (4, 3, 1))


if __name__ == "__main__":
    unittest.main()
