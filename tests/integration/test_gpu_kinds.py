"""Several GPU models, MIG slices in both strategies and shared GPUs on the real API server: nodes as discovery labels
them and device plugins show them."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, bound, condition, create_pod, delete_namespace_pods, node_of, pod,
                     shared_testbed, unique, wait_for)

SLICED = "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"
MIG = "nvidia.com/mig-3g.40gb"
SHARED = "nvidia.com/gpu.shared"
JOB = """\
kind: inference
job: {{name: {name}}}
environment: {{image: example/main}}
service: {{replicas: 1}}
resources: {{pool: {pool}, cpu: 1, memory: 1Gi, {gpu}}}
"""


class GpuKinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.pool = unique("kinds")
        cls.add_node("single", gpus=7, labels={"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.product": SLICED})
        cls.add_node("mixed", gpus=2, gpu_resource=MIG)
        cls.add_node("shared", gpus=4, gpu_resource=SHARED, labels={"nvidia.com/gpu.replicas": "4"})
        cls.add_node("a100", gpus=2, model="A100")
        cls.add_node("h100", gpus=1, model="H100")
        cls.daemon = Daemon({"names": {"gpuReplicas": 4}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    @classmethod
    def add_node(cls, name, **facts):
        name = f"{cls.pool}-{name}"
        cls.bed.create_node(name, pool=cls.pool, **facts)
        cls.addClassCleanup(lambda: cls.bed.api("DELETE", f"/api/v1/nodes/{name}", expect=(200,)))

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("kinds"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create(self, name, **facts):
        create_pod(self.bed, self.namespace, pod(name, pool=None if "nodeSelector" in facts else self.pool, **facts))

    def goes_to(self, name, node):
        wait_for(lambda: node_of(self.bed, self.namespace, name), BOUND_S, f"{name} bound")
        self.assertEqual(node_of(self.bed, self.namespace, name), f"{self.pool}-{node}", name)

    def said_of(self, name):
        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
            return found if found and found["status"] == "False" else None

        return wait_for(said, BOUND_S, f"{name} has a reason to wait")["message"]

    def test_a_slice_named_as_gpu_is_bound_only_to_pods_that_name_its_model(self):
        for index in range(3):
            self.create(f"whole-{index}")
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 3, BOUND_S, "three whole GPUs given")
        self.assertEqual(set(bound(self.bed, self.namespace).values()), {f"{self.pool}-a100", f"{self.pool}-h100"})
        self.create("late")
        self.assertIn("had MIG slices where whole GPUs were asked for", self.said_of("late"))
        self.create("slice", nodeSelector={f"{PREFIX}/pool": self.pool, "nvidia.com/gpu.product": SLICED})
        self.goes_to("slice", "single")

    def test_totals_count_slices_and_shares_as_parts_of_gpus(self):
        pool = next(one for one in self.daemon.get("/api/v1/pools?pageSize=100")["items"] if one["name"] == self.pool)
        # 7 slices of 7, 2 of three sevenths (858 thousandths), 4 shares of 4, 2 and 1 whole ones.
        self.assertEqual(pool["gpuTotal"], 5.858)
        rows = {node["name"].removeprefix(f"{self.pool}-"): node
                for node in self.daemon.get(f"/api/v1/nodes?pool={self.pool}")["items"]}
        self.assertEqual(rows["single"]["gpuTotal"], 0)
        self.assertEqual(rows["single"]["slices"], [{"name": "mig-1g.10gb", "total": 7, "used": 0, "free": 7}])
        self.assertEqual(rows["shared"]["slices"], [{"name": "gpu.shared", "total": 4, "used": 0, "free": 4}])
        self.assertEqual(rows["a100"]["slices"], [])

    def test_a_slice_of_the_mixed_strategy_is_bound_by_its_own_resource(self):
        self.create("big", gpu_resource=MIG)
        self.goes_to("big", "mixed")

    def test_the_first_model_of_a_list_that_has_room_is_taken(self):
        listed = {f"{PREFIX}/gpu-type": "H100,A100"}
        for name, node in (("first", "h100"), ("second", "a100"), ("third", "a100")):
            self.create(name, annotations=listed)
            self.goes_to(name, node)
        self.create("fourth", annotations=listed)
        self.said_of("fourth")
        self.assertIn("H100 has 0 of 1 GPU free, at most 0 on one node, room for 0 of 1 rank; A100 has 0 of 2 GPUs free",
                      str(self.daemon.get(f"/api/v1/jobs/fourth/explain?namespace={self.namespace}")))

    def test_weights_of_a_users_own_affinity_are_an_order(self):
        key = f"{PREFIX}/gpu-type"
        wants = {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": key, "operator": "In", "values": ["A100", "H100"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 50, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": ["H100"]}]}}]}}
        for name, node in (("first", "h100"), ("second", "a100")):
            self.create(name, affinity=wants)
            self.goes_to(name, node)

    def test_submitted_jobs_request_lists_and_shares(self):
        for name, gpu, node in (("listed", "gpu: 1, gpuType: [H100, A100]", "h100"),
                                ("part", "gpu: 2(vgpu)", "shared")):
            status, body = self.submit(name, gpu)
            self.assertEqual(status, 201, body)
            wait_for(lambda: bound(self.bed, self.namespace, f"app={name}"), BOUND_S, f"{name} bound")
            self.assertEqual(set(bound(self.bed, self.namespace, f"app={name}").values()), {f"{self.pool}-{node}"})
        row = self.daemon.job("part", self.namespace)
        self.assertEqual(row["resources"]["gpu"], 0.5, row)

    def test_a_profile_that_does_not_exist_is_refused_with_the_existing_ones(self):
        status, body = self.submit("wrong", "gpu: 1(mig-5g.40gb)")
        self.assertEqual(status, 400, body)
        self.assertIn("no GPU has a MIG profile 5g.40gb; the nearest are 4g.40gb, 3g.40gb, 7g.40gb", str(body))
        status, body = self.submit("wrong", "gpu: 1(mig-1g.5gb), gpuType: H100-80GB")
        self.assertEqual(status, 400, body)
        self.assertIn("H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb", str(body))

    def submit(self, name, gpu):
        text = JOB.format(name=name, pool=self.pool, gpu=gpu)
        if name != "wrong":
            self.addCleanup(self.daemon.rest, "DELETE",
                            f"/api/v1/jobs/{name}?namespace={self.namespace}&force=true")
        return self.daemon.rest("POST", f"/api/v1/jobs?namespace={self.namespace}", text)[:2]


if __name__ == "__main__":
    unittest.main()
