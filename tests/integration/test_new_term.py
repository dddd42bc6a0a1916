"""What a gpuctld decided and did not finish, and the one that comes after it finds changed."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, Testbed, bound, create_pod, gpus_per_node, node_of, pod, unique, wait_for)

GPUS = 8
USER = "system:serviceaccount:gpuctl-system:gpuctld"


class NewTerm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(controllers=True).start()
        cls.addClassCleanup(cls.bed.stop)
        names = [cls.bed.create_node(f"fill-{index}", gpus=GPUS, pool="fill") for index in range(6)]
        names += [cls.bed.create_node(f"leave-{index}", gpus=GPUS, pool="leave") for index in range(2)]
        cls.bed.wait_nodes_ready(names)
        for name, value in (("term-low", 100), ("term-high", 100000)):
            cls.bed.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                        {"metadata": {"name": name}, "value": value}, expect=(201,))

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("term"))

    def accepted(self, since, subresource):
        return [event["objectRef"]["name"] for event in self.bed.audit_events(USER, since)
                if event.get("objectRef", {}).get("subresource") == subresource and event["verb"] == "create"
                and event["objectRef"]["namespace"] == self.namespace and event["responseStatus"]["code"] == 201]

    def test_bindings_whose_capacity_was_taken_are_not_sent_again(self):
        since = self.bed.audit_size()
        few = {"expert": {"kubernetes": {"bindsInFlightMax": 1}}}  # most bindings are decided and not sent when it is killed
        size = 6 * GPUS
        daemon = Daemon(few, bed=self.bed).start()
        for index in range(size):
            create_pod(self.bed, self.namespace, pod(
                f"gang-{index}", gpus=1, pool="fill", labels={f"{PREFIX}/gang": "gang"},
                annotations={f"{PREFIX}/gang-min": str(size)}), role="admin")
        wait_for(lambda: self.accepted(since, "binding"), BOUND_S, "a first rank is bound", every_s=0.001)
        daemon.process.kill()
        free = {node: GPUS - used for node, (used, _) in gpus_per_node(self.bed).items() if node.startswith("fill-")}
        self.assertGreater(sum(free.values()), GPUS, "it died in the middle of the gang")
        for node, gpus in free.items():
            if gpus:
                create_pod(self.bed, self.namespace, pod(f"other-{node}", gpus=gpus, scheduler="other", nodeName=node),
                           role="admin")
        sent = len(self.accepted(since, "binding"))
        again = Daemon(few, bed=self.bed, folder=daemon.folder, port=daemon.port).start()
        self.addCleanup(again.stop)
        create_pod(self.bed, self.namespace, pod("witness", gpus=0, pool="leave"), role="admin")
        wait_for(lambda: node_of(self.bed, self.namespace, "witness"), BOUND_S, "the new one binds")
        self.assertEqual(len(self.accepted(since, "binding")), sent + 1, "and nothing but the witness")
        for node, (used, total) in gpus_per_node(self.bed).items():
            self.assertLessEqual(used, total, f"GPUs of {node}")
        self.assertLess(len(bound(self.bed, self.namespace, f"{PREFIX}/gang=gang")), size)

    def test_the_eviction_of_a_gang_is_completed_and_no_other_gang_is_evicted(self):
        daemon = Daemon(bed=self.bed).start()
        for name in ("first", "second"):
            self.create_gang(name)
            wait_for(lambda gang=name: len(bound(self.bed, self.namespace, f"{PREFIX}/gang={gang}")) == 2, BOUND_S,
                     f"gang {name} is bound")
        daemon.stop()
        terminating, stays = sorted(bound(self.bed, self.namespace, f"{PREFIX}/gang=first"))
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{terminating}", expect=(200,))
        since = self.bed.audit_size()
        create_pod(self.bed, self.namespace, pod("high", gpus=GPUS, pool="leave", priorityClassName="term-high"),
                   role="admin")
        another = Daemon(bed=self.bed).start()  # with a journal of its own, which has no gang that ever ran
        self.addCleanup(another.stop)
        wait_for(lambda: node_of(self.bed, self.namespace, "high"), 3 * BOUND_S, "the urgent one is bound")
        self.assertEqual(self.accepted(since, "eviction"), [stays])

    def create_gang(self, name):
        rank = pod("", gpus=GPUS // 2, pool="leave", labels={f"{PREFIX}/gang": name},
                   annotations={f"{PREFIX}/gang-min": "2", f"{PREFIX}/preemptible": "true",
                                "testbed.gpuctl.dev/stop-delay": "4s"},
                   priorityClassName="term-low", restartPolicy="Never")
        rank["spec"]["terminationGracePeriodSeconds"] = 10
        self.bed.api("POST", f"/apis/batch/v1/namespaces/{self.namespace}/jobs", {
            "metadata": {"name": name}, "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2,
                                                 "backoffLimit": 100, "template": rank}}, expect=(201,))


if __name__ == "__main__":
    unittest.main()
