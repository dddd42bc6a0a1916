"""Racks and slices of GPUs on the real API server: nodes as their labels and device plugins show them."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, bound, condition, create_pod, delete_namespace_pods, node_of, pod,
                     shared_testbed, unique, wait_for)

MIG = "nvidia.com/mig-1g.10gb"


class Topology(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.pool = unique("racks")
        cls.nodes = []
        # One GPU each: r1 has one node, r2 two, and labels of two dialects name them.
        for name, labels in (("a", {f"{PREFIX}/rack": "r1"}), ("b", {f"{PREFIX}/rack": "r2"}),
                             ("c", {"topology.kubernetes.io/rack": "r2"})):
            cls.add_node(f"{cls.pool}-{name}", gpus=1, labels=labels)
        cls.add_node(f"{cls.pool}-cut", gpus=2, gpu_resource=MIG)
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    @classmethod
    def add_node(cls, name, **facts):
        cls.bed.create_node(name, pool=cls.pool, **facts)
        cls.addClassCleanup(lambda: cls.bed.api("DELETE", f"/api/v1/nodes/{name}", expect=(200,)))

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("topology"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create_gang(self, name, ranks, **annotations):
        for rank in range(ranks):
            create_pod(self.bed, self.namespace, pod(
                f"{name}-{rank}", pool=self.pool, labels={f"{PREFIX}/gang": name},
                annotations={f"{PREFIX}/gang-min": str(ranks),
                             **{f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()}}))

    def said_of(self, name):
        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
            return found if found and found["status"] == "False" else None

        return wait_for(said, BOUND_S, f"{name} has a reason to wait")["message"]

    def test_a_gang_that_requires_one_rack_is_bound_inside_it(self):
        self.create_gang("g", 2, required_topology="rack")
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "both ranks bound")
        self.assertEqual(set(bound(self.bed, self.namespace).values()), {f"{self.pool}-b", f"{self.pool}-c"})

    def test_without_such_a_rack_no_rank_is_bound_and_the_reason_is_shown(self):
        self.create_gang("wide", 3, required_topology="rack")
        self.said_of("wide-0")
        blockers = self.daemon.get(f"/api/v1/jobs/wide/explain?namespace={self.namespace}")
        self.assertIn("within one rack; rack r2 has most room: 2 GPUs free, room for 2 of 3 ranks", str(blockers))
        self.assertEqual(bound(self.bed, self.namespace), {})

    def test_a_slice_is_bound_by_its_own_resource_and_counts_as_its_share(self):
        for index in range(3):
            create_pod(self.bed, self.namespace, pod(f"s-{index}", gpus=1, gpu_resource=MIG, pool=self.pool))
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "two slices given")
        self.assertEqual(set(bound(self.bed, self.namespace).values()), {f"{self.pool}-cut"})
        waiting = next(f"s-{index}" for index in range(3) if not node_of(self.bed, self.namespace, f"s-{index}"))
        self.assertIn(f"Insufficient {MIG}", self.said_of(waiting))
        row = next(node for node in self.daemon.get(f"/api/v1/nodes?pool={self.pool}")["items"]
                   if node["name"] == f"{self.pool}-cut")
        self.assertEqual(row["gpuTotal"], 0)
        self.assertEqual(row["slices"], [{"name": "mig-1g.10gb", "total": 2, "used": 2, "free": 0}])
        pool = next(one for one in self.daemon.get("/api/v1/pools?pageSize=100")["items"] if one["name"] == self.pool)
        self.assertEqual(pool["gpuTotal"], 3.286)  # three GPUs and two sevenths


if __name__ == "__main__":
    unittest.main()
