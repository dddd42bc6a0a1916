"""Acceptance cases about labels of nodes, pools and quotas, with the command line on the embedded cluster."""

import unittest

from acceptance import CONFLICT, NOT_FOUND, USAGE, Laboratory, fixture, training

GPU_TYPE = "runwhere.ai/gpu-type"


class Labels(Laboratory, unittest.TestCase):
    def tearDown(self):
        super().tearDown()
        for node in ("node-1", "node-2", "node-3"):
            for key in self.labels(node):
                if key not in (GPU_TYPE, "kubernetes.io/hostname"):
                    self.cli("label", node, key, "--delete")
            self.cli("label", node, f"{GPU_TYPE}=A100-80G", "--overwrite")

    def labels(self, node):
        return self.rest("GET", f"/nodes/{node}/labels")["labels"]

    def test_J1_keys_get_the_prefix_on_three_nodes_at_once(self):
        self.cli("label", "node-1", "node-2", "node-3", "gpuType=a100-40g", "--overwrite")
        self.assertEqual([self.labels(node)[GPU_TYPE] for node in ("node-1", "node-2", "node-3")], ["a100-40g"] * 3)
        said = self.refused("label", "node-1", "gpuType=h100", code=CONFLICT)
        self.assertIn("--overwrite", said)

    def test_J2_a_key_with_the_prefix_keeps_it_once(self):
        self.cli("label", "node-1", f"{GPU_TYPE}=a100-80g", "--overwrite")
        self.assertEqual({key: value for key, value in self.labels("node-1").items() if "gpu-type" in key}, {GPU_TYPE: "a100-80g"})

    def test_J3_all_orders_of_the_words_mean_the_same(self):
        for number, words in enumerate((("node", "node-1", "zone=ZONE"), ("node", "zone=ZONE", "node-1"), ("node-1", "zone=ZONE"))):
            self.cli("label", *[word.replace("ZONE", f"z{number}") for word in words], "--overwrite")
            self.assertEqual(self.labels("node-1")["runwhere.ai/zone"], f"z{number}")

    def test_J5_J7_a_label_is_deleted_and_the_answer_is_a_list(self):
        rows = self.document("label", "node-1", "node-2", "zone=a")
        self.assertEqual([set(row) for row in rows], [{"node", "operation", "label", "success", "message"}] * 2)
        self.assertEqual([row["operation"] for row in rows], ["add", "add"])
        rows = self.document("label", "node-1", "zone", "--delete")
        self.assertEqual([(row["node"], row["operation"], row["success"]) for row in rows], [("node-1", "delete", True)])
        self.assertNotIn("runwhere.ai/zone", self.labels("node-1"))
        self.assertIn("runwhere.ai/zone", self.labels("node-2"))

    def test_J6_an_unknown_node_and_a_key_without_a_value_are_errors(self):
        self.assertIn("nobody", self.refused("label", "nobody", "zone=a", code=NOT_FOUND))
        self.assertIn("KEY=VALUE", self.refused("label", "node-1", "zone", code=USAGE))
        self.assertNotIn("runwhere.ai/zone", self.labels("node-1"))


class Pools(Laboratory, unittest.TestCase):
    def test_K1_B18_a_pool_labels_its_nodes_and_jobs_find_their_type_there(self):
        for name, nodes in (("test-pool", {"node-1": "A100-80G"}), ("training-pool", {"node-1": "A100-100G", "node-2": "A800-80G"}),
                            ("resource-pool", {"node-3": "L40"}), ("cpu-pool", {"cpu-0": None}), ("old-header-pool", {})):
            with self.subTest(name):
                answer = self.document("create", "-f", fixture(f"pool/{name}.yaml"))
                result = answer[0]["results"][0]
                self.assertEqual((result["name"], result["status"]), (name, "created"))
                self.assertTrue(result["message"])
                for node, gpu in nodes.items():
                    labels = self.rest("GET", f"/nodes/{node}/labels")["labels"]
                    self.assertEqual((labels["runwhere.ai/pool"], labels.get(GPU_TYPE)), (name, gpu))
                if name == "training-pool":
                    self.create_text(training("typed", gpus=1).replace("gpu: 1", "pool: training-pool, gpu: 1, gpuType: a800-80g"))
                    self.wait_status("typed")
                    self.assertEqual(self.rows()[0]["node"], "node-2")
                    self.cli("delete", "job", "typed", "--force", "--wait")
                self.cli("delete", "pool", name, "--force")

    def test_K2_unknown_nodes_are_all_named_and_no_other_node_is_labelled(self):
        said = self.refused("create", "-f", "-", code=NOT_FOUND,
                            stdin="kind: pool\npool: {name: p}\nnodes: {node-1: {}, ghost-a: {}, ghost-b: {}}\n")
        self.assertIn("ghost-a", said)
        self.assertIn("ghost-b", said)
        self.assertNotIn("runwhere.ai/pool", self.rest("GET", "/nodes/node-1/labels")["labels"])
        self.assertIn("p", self.refused("describe", "pool", "p", code=NOT_FOUND))

    def test_K3_a_node_of_another_pool_is_refused_and_moved_only_when_asked(self):
        self.create("pool/test-pool.yaml")
        said = self.refused("create", "-f", fixture("pool/training-pool.yaml"), code=CONFLICT)
        self.assertIn("node-1", said)
        self.assertIn("test-pool", said)
        self.assertNotIn("training-pool", [pool["name"] for pool in self.document("get", "pools")])
        self.create_text("kind: pool\npool: {name: other}\n")
        self.refused("add", "node", "node-1", "--pool", "other", code=CONFLICT)
        self.cli("add", "node", "node-1", "--pool", "other", "--move")
        self.assertEqual(self.rest("GET", "/nodes/node-1/labels")["labels"]["runwhere.ai/pool"], "other")

    def test_a_node_in_two_pools_of_one_file_is_refused_whole(self):
        said = self.refused("create", "-f", "-", stdin=(
            "kind: pool\npool: {name: one}\nnodes: {node-1: {}}\n---\nkind: pool\npool: {name: two}\nnodes: {node-1: {}}\n"))
        self.assertIn("node-1", said)
        self.assertEqual({pool["name"] for pool in self.document("get", "pools")}, {"default", "inference-pool"})


class Quotas(Laboratory, unittest.TestCase):
    def test_K5_one_quota_file_serves_three_namespaces_and_default(self):
        self.create("quota/test-quota.yaml")
        hard = {row["namespace"]: row["hard"] for row in self.document("get", "quotas")}
        self.assertEqual(set(hard), {"default", "team-lab", "team-red", "team-blue"})
        self.assertEqual([hard["default"][key] for key in ("cpu", "memory", "nvidia.com/gpu")], ["20", "40Gi", "2"])
        self.assertLessEqual({"team-lab", "team-red", "team-blue"}, {row["name"] for row in self.document("get", "ns")})

    def test_K6_a_second_quota_of_a_namespace_is_refused_with_the_first(self):
        self.create("quota/memory-quota.yaml")
        said = self.refused("create", "-f", "-", code=CONFLICT, stdin="kind: quota\nquota: {name: second}\nnamespace: {team-memory: {cpu: 1}}\n")
        self.assertIn("memory-quota", said)
        self.assertIn("team-memory", said)
        self.assertEqual([row["name"] for row in self.document("get", "quotas")], ["memory-quota"])

    def test_K7_a_limit_that_is_left_out_is_unlimited(self):
        self.create("quota/memory-quota.yaml")
        hard = self.document("get", "quotas")[0]["hard"]
        self.assertEqual([hard[key] for key in ("cpu", "memory", "nvidia.com/gpu", "pods")], ["unlimited", "16Gi"] + ["unlimited"] * 2)
        self.create_text("kind: quota\nquota: {name: d}\ndefault: {memory: 8Gi}\n")
        self.assertEqual(self.document("describe", "quota", "default")["hard"]["cpu"], "unlimited")

    def test_K9_what_a_job_uses_is_counted_until_it_is_deleted(self):
        self.create("quota/test-quota.yaml")
        self.create_text(training("a", namespace="team-lab"))
        self.wait_status("a", namespace="team-lab")
        used = self.document("describe", "quota", "team-lab")["used"]
        self.assertEqual((used["cpu"], used["memory"]), ("1", "1Gi"))
        self.cli("delete", "job", "a", "-n", "team-lab", "--force", "--wait")
        used = self.document("describe", "quota", "team-lab")["used"]
        self.assertEqual((used["cpu"], used["memory"]), ("0", "0"))


if __name__ == "__main__":
    unittest.main()
