"""Pods without GPUs on nodes with GPUs: they leave each idle GPU what a pod with a GPU needs besides the GPU (ADR 0015)."""

import unittest

from support import BOUND_S, PREFIX, Daemon, bound, delete_namespace_pods, pod, shared_testbed, unique, wait_for

NODES, GPUS = 6, 8
POOL = "packing-pool"
ALL_BOUND_S = 6 * BOUND_S  # three hundred pods, controllers included


class Packing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        names = [cls.bed.create_node(f"packing-{index}", GPUS, POOL, "A100-100G") for index in range(NODES)]
        for name in names:
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}")
            cls.offer(name, {"ephemeral-storage": "400Gi"})
        cls.bed.wait_nodes_ready(names)
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    @classmethod
    def offer(cls, name, more):
        patch = {"status": {"capacity": more, "allocatable": more}}
        cls.bed.api("PATCH", f"/api/v1/nodes/{name}/status", patch,
                    content_type="application/strategic-merge-patch+json", expect=(200,))

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("packing"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create(self, path, body):
        group, _, kind = path.rpartition("/")
        self.bed.api("POST", f"/apis/{group}/namespaces/{self.namespace}/{kind}", body, as_role="alice", expect=(201,))
        self.addCleanup(self.bed.api, "DELETE", f"/apis/{group}/namespaces/{self.namespace}/{kind}/{body['metadata']['name']}",
                        {"propagationPolicy": "Background"}, content_type="application/json")

    def template(self, part, gpus, cpu, memory, storage):
        body = pod("template", gpus=gpus, pool=POOL, labels={"part": part}, cpu=cpu, memory=memory)
        del body["metadata"]["name"]
        if storage:
            body["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = storage
        return body

    def deploy(self, replicas, cpu="100m", memory="100Mi", storage=None):
        """Pods without GPUs; returns how many are on each node."""
        template = self.template("small", 0, cpu, memory, storage)
        self.create("apps/v1/deployments", {"metadata": {"name": "small"}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"part": "small"}}, "template": template}})
        placed = self.wait_bound("small", replicas)
        return {name: list(placed.values()).count(name) for name in set(placed.values())}

    def fill(self, cpu="1", storage=None):
        """A Job that asks for every GPU of the pool, one for each pod."""
        template = self.template("gpus", 1, cpu, "1Gi", storage)
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1/jobs", {"metadata": {"name": "gpus"}, "spec": {
            "parallelism": NODES * GPUS, "completions": NODES * GPUS, "template": template}})

    def wait_bound(self, part, count):
        def now():
            placed = bound(self.bed, self.namespace, f"part={part}")
            return placed if len(placed) == count else None
        return wait_for(now, ALL_BOUND_S, lambda: f"{count} pods of {part} are bound; bound are "
                                                  f"{len(bound(self.bed, self.namespace, f'part={part}'))}: {self.why()}")

    def why(self):
        rows = self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}&view=job")
        return [(row["name"], row["status"], row["reason"]) for row in rows]

    def test_three_hundred_small_pods_leave_a_pod_slot_for_each_gpu(self):
        on_nodes = self.deploy(300)
        self.fill()
        self.assertEqual(len(self.wait_bound("gpus", NODES * GPUS)), NODES * GPUS, on_nodes)

    def test_pods_with_ephemeral_storage_leave_some_for_each_gpu(self):
        on_nodes = self.deploy(120, storage="10Gi")
        self.fill(storage="5Gi")
        self.assertEqual(len(self.wait_bound("gpus", NODES * GPUS)), NODES * GPUS, on_nodes)

    def test_pods_with_cpu_leave_some_for_each_gpu(self):
        on_nodes = self.deploy(120, cpu="1500m")
        self.fill(cpu="1500m")
        self.assertEqual(len(self.wait_bound("gpus", NODES * GPUS)), NODES * GPUS, on_nodes)


if __name__ == "__main__":
    unittest.main()
