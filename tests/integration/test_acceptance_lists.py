"""Acceptance cases about get and describe, with the command line on the embedded cluster."""

import unittest

from acceptance import NOT_FOUND, Laboratory, fixture, service, training
from support import RUNNING_S, wait_for

COLUMNS = ["JOB ID", "NAME", "NAMESPACE", "KIND", "STATUS", "READY", "NODE", "IP", "AGE"]
KEYS = ["job_id", "name", "namespace", "kind", "status", "ready", "node", "ip", "age"]
# Names that lose a part when job names are guessed from pod names.
HARD_NAMES = ("qwen2-7b-llamafactory-sft", "llama3-8b-inference", "data-prep-notebook0", "new-test-nginx", "high-priority-training-job")
HARD_FIXTURES = ("training/qwen2-7b-llamafactory-sft.yaml", "inference/llama3-8b-inference.yaml", "notebook/data-prep-notebook0.yaml",
                 "compute/new-test-nginx.yaml", "training/high-priority-training-job.yaml")


def columns(text):
    """The column names of a table: they are at least two spaces apart."""
    return [word.strip() for word in text.splitlines()[0].split("  ") if word.strip()]


class Jobs(Laboratory, unittest.TestCase):
    def test_E1_E2_the_header_is_there_without_jobs(self):
        self.assertEqual(columns(self.cli("get", "jobs").stdout), COLUMNS)

    def test_E3_E9_a_job_has_a_row_for_each_pod_and_one_before_it_has_any(self):
        self.create("inference/new-test-inference-job.yaml")
        self.create_text(training("waits", gpus=8, more=", priority: low") + "---\n" + training("waits-too", gpus=8))
        self.wait_status("new-test-inference-job")
        rows = [row for row in self.rows() if row["name"] == "new-test-inference-job"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertRegex(row["job_id"], r"^new-test-inference-job-[a-z0-9]+-[a-z0-9]{5}$")
            self.assertLessEqual(set(KEYS), set(row))
        self.create_text("".join(training(f"wide-{number}", gpus=8) + "---\n" for number in range(4)))
        pending = [row for row in self.rows() if row["status"] == "Pending"]
        self.assertTrue(pending, "jobs that wait are listed")
        self.assertEqual({row["node"] for row in pending}, {"N/A"})

    def test_E9_a_notebook_is_pending_until_it_is_ready(self):
        text = service("lab", kind="notebook").replace("'}", "', env: {GPUCTL_SIM_IMAGE_PULL: 600s}}")
        self.create_text(text)
        self.assertEqual((self.rows()[0]["ready"], self.rows()[0]["status"] in ("Pending", "ContainerCreating")), ("0/1", True))
        self.create_text(service("ready", kind="notebook"))
        self.wait_status("ready")
        row = next(row for row in self.rows() if row["name"] == "ready")
        self.assertEqual((row["ready"], row["status"]), ("1/1", "Running"))

    def test_E5_E6_E7_namespace_pool_and_kind_select_alone_and_together(self):
        self.create("pool/test-pool.yaml", "training/test-training.yaml", "compute/test-nginx.yaml")
        self.create_text(training("pooled", namespace="team-a").replace("resources: {", "resources: {pool: test-pool, "))
        self.create_text(service("web", namespace="team-a"))
        self.assertEqual(self.names(), ["pooled", "test-nginx", "test-training", "web"])
        self.assertEqual(self.names("-n", "default"), ["test-nginx", "test-training"])
        self.assertEqual(self.names("--pool", "test-pool"), ["pooled"])
        self.assertEqual(self.names("--kind", "compute"), ["test-nginx", "web"])
        self.assertEqual(self.names("--kind", "compute", "-n", "team-a"), ["web"])
        self.create_text(training("waits", gpus=8).replace("gpu: 8", "gpu: 8, nodeCount: 3"))
        self.assertEqual(self.names("--pool", "test-pool"), ["pooled"], "what waits in another pool is not shown")
        self.assertIn("no-such-pool", self.refused("get", "jobs", "--pool", "no-such-pool", code=NOT_FOUND))

    def test_E11_a_status_says_what_the_container_waits_for_or_how_it_ended(self):
        self.create_text(training("pull", GPUCTL_SIM_OUTCOME="image-pull") + "---\n" +
                         training("fails", GPUCTL_SIM_OUTCOME="fail", GPUCTL_SIM_RUN_TIME="100ms"))
        wait_for(lambda: self.rows("--status", "ImagePullBackOff"), RUNNING_S, lambda: f"ImagePullBackOff: {self.rows()}", every_s=0.1)
        wait_for(lambda: any(row["name"] == "fails" and row["status"] in ("Error", "Failed") for row in self.rows()), RUNNING_S,
                 lambda: f"Error: {self.rows()}", every_s=0.1)


class Things(Laboratory, unittest.TestCase):
    def test_E13_pools_add_up_their_nodes(self):
        self.create("pool/test-pool.yaml", "training/test-training.yaml")
        self.wait_status("test-training")
        pools = {pool["name"]: pool for pool in self.document("get", "pools")}
        self.assertEqual(set(pools), {"default", "inference-pool", "test-pool"})
        self.assertEqual(pools["default"]["nodes"], ["cpu-0", "node-0", "node-2", "node-3"])
        nodes = self.document("get", "nodes")
        for name, pool in pools.items():
            own = [node for node in nodes if node["pool"] == name]
            for key in ("gpu_total", "gpu_used", "gpu_free"):
                self.assertEqual(pool[key], sum(node[key] for node in own), (name, key))
        self.assertEqual(pools["default"]["gpu_used"], 1)
        self.assertIn("NODE COUNT", columns(self.cli("get", "pools").stdout))

    def test_E14_nodes_are_selected_by_pool_and_type(self):
        self.create("pool/test-pool.yaml")
        node = next(node for node in self.document("get", "nodes") if node["name"] == "node-1")
        self.assertEqual([node[key] for key in ("status", "gpu_total", "gpu_free", "gpu_types", "pool")],
                         ["active", 8, 8, "A100-80G", "test-pool"])
        for flags, names in ((("--pool", "test-pool"), ["node-1"]), (("--gpu-type", "a10-24g"), ["infer-0"]),
                             (("--pool", "test-pool", "--gpu-type", "A100-80G"), ["node-1"]),
                             (("--pool", "test-pool", "--gpu-type", "H100"), [])):
            self.assertEqual([node["name"] for node in self.document("get", "nodes", *flags)], names, flags)
        self.assertIn("NODE NAME", columns(self.cli("get", "nodes", "--gpu-type", "H100").stdout))

    def test_E15_labels_of_one_node_of_one_key_and_of_all(self):
        self.cli("label", "node-1", "zone=a")
        self.assertIn("runwhere.ai/zone: a", self.cli("get", "labels", "node-1").stdout)
        self.assertEqual(self.cli("get", "labels", "node-1", "--key", "zone").stdout, "runwhere.ai/zone: a\n")
        self.assertIn("LabelNotFound", self.refused("get", "labels", "node-1", "--key", "none", code=NOT_FOUND))
        lines = self.cli("get", "labels").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:]], ["cpu-0", "infer-0", "node-0", "node-1", "node-2", "node-3"])
        self.cli("label", "node-1", "zone", "--delete")

    def test_E17_F13_quotas_and_namespaces_are_listed_and_described(self):
        self.create("quota/test-quota.yaml", "quota/memory-quota.yaml")
        self.assertEqual([row["namespace"] for row in self.document("get", "quotas")],
                         ["default", "team-blue", "team-lab", "team-memory", "team-red"])
        self.assertIn("tesla-quota", self.cli("get", "quotas", "default").stdout)
        self.assertIn("QuotaNotFound", self.refused("get", "quotas", "nobody", code=NOT_FOUND))
        self.assertEqual(self.document("describe", "ns", "team-lab")["quota"]["hard"]["cpu"], "10")
        self.assertIn("team-memory", self.cli("describe", "ns", "team-memory").stdout)
        self.assertEqual(self.document("describe", "ns", "default")["quota"]["name"], "tesla-quota")
        self.cli("delete", "quota", "memory-quota", "--force")
        self.assertIsNone(self.document("describe", "ns", "team-memory")["quota"])
        self.assertIn("NamespaceNotFound", self.refused("describe", "ns", "nobody", code=NOT_FOUND))

    def test_E18_namespaces_are_listed_once_with_their_age(self):
        self.create("quota/memory-quota.yaml")
        names = [row["name"] for row in self.document("get", "ns")]
        self.assertEqual(names, ["default", "team-memory"])
        self.assertEqual(names, [row["name"] for row in self.document("get", "namespaces")])
        row = next(row for row in self.document("get", "ns") if row["name"] == "team-memory")
        self.assertRegex(row["age"], r"^\d+[smhd]$")

    def test_F10_F11_pools_and_nodes_are_described(self):
        self.create("pool/test-pool.yaml", "pool/old-header-pool.yaml", "training/test-training.yaml")
        self.wait_status("test-training")
        self.assertIn("node-1", self.cli("describe", "pool", "test-pool").stdout)
        pool = self.document("describe", "pool", "default")
        self.assertEqual([job["name"] for job in pool["jobs"]], ["test-training"])
        self.assertIn("old-header-pool", self.cli("describe", "pool", "old-header-pool").stdout)
        self.assertIn("nope", self.refused("describe", "pool", "nope", code=NOT_FOUND))
        node = self.document("describe", "node", "node-1")
        self.assertEqual(node["name"], "node-1")
        self.assertIn("test-pool", self.cli("describe", "node", "node-1").stdout)
        self.assertIn("nope", self.refused("describe", "node", "nope", code=NOT_FOUND))


class Described(Laboratory, unittest.TestCase):
    def test_F1_F2_a_job_is_found_by_its_name_and_by_that_of_a_pod(self):
        self.create("notebook/test-notebook-job.yaml", "compute/test-redis.yaml", "inference/test-inference.yaml",
                    "training/test-training.yaml")
        # Jobs whose names look like those of pods.
        self.create_text("---\n".join(training(name) for name in ("test-redis-5", "data-prep-notebook0", "mine-3")))
        for name in ("test-notebook-job", "test-redis", "test-inference", "test-training"):
            self.wait_status(name)
        for row in self.rows():
            for word in (row["name"], row["job_id"]):
                self.assertEqual(self.document("describe", "job", word)["name"], row["name"], word)
        self.assertEqual({row["job_id"] for row in self.rows() if row["name"] == "test-notebook-job"}, {"test-notebook-job-0"})
        for almost in ("test-notebook", "test-redis-6", "test-redis-597469bc6-d9bsl"):
            self.assertIn("JobNotFound", self.refused("describe", "job", almost, code=NOT_FOUND))

    def test_F3_names_that_defeat_cutting_are_shown_whole(self):
        self.create(*HARD_FIXTURES)
        for name in HARD_NAMES:
            self.wait_status(name)
            self.assertEqual(self.document("describe", "job", name)["yaml_content"]["job"]["name"], name)
            self.assertIn(f"Name:           {name}\n", self.cli("describe", "job", name).stdout)
            self.assertTrue(self.cli("logs", name).stdout)
        self.assertEqual(sorted(set(self.names())), sorted(HARD_NAMES))

    def test_F5_F6_access_is_shown_before_and_after_the_pod_runs(self):
        self.create_text(service("slow").replace("'}", "', env: {GPUCTL_SIM_IMAGE_PULL: 600s}}"), namespace="team-a")
        said = self.cli("describe", "job", "slow", "-n", "team-a").stdout
        self.assertIn("initialising, port 8000 expected", said)
        job = self.document("describe", "job", "slow", "-n", "team-a")
        for key in ("job_id", "name", "namespace", "kind", "status", "pool", "age", "resource_type", "yaml_content", "events",
                    "access_methods"):
            self.assertIn(key, job)
        self.assertEqual((job["namespace"], job["resource_type"]), ("team-a", "Deployment"))
        self.assertIsNone(job["access_methods"]["pod_ip_access"]["url"])

    def test_F7_an_unknown_job_is_an_error(self):
        self.assertIn("nobody", self.refused("describe", "job", "nobody", code=NOT_FOUND))
        self.assertEqual(self.document("describe", "job", "nobody", code=NOT_FOUND)["code"], "JobNotFound")

    def test_F9_text_and_json_agree_on_the_status(self):
        self.create_text(training("ends", GPUCTL_SIM_RUN_TIME="100ms") + "---\n" +
                         training("fails", more=", maxRunTime: 1s", GPUCTL_SIM_RUN_TIME="600s") + "---\n" + service("web") +
                         "---\n" + service("lab", kind="notebook"))
        self.create_text(service("slow", kind="notebook").replace("'}", "', env: {GPUCTL_SIM_IMAGE_PULL: 600s}}"))
        for name, status in (("ends", "Succeeded"), ("fails", "Failed"), ("web", "Running"), ("lab", "Running")):
            self.wait_status(name, status)
        for name, status in (("ends", "Succeeded"), ("fails", "Failed"), ("web", "Running"), ("lab", "Running"), ("slow", "Pending")):
            self.assertEqual(self.document("describe", "job", name)["status"], status, name)
            self.assertRegex(self.cli("describe", "job", name).stdout, rf"(?m)^Status: +{status}$")

    def test_G1_G2_G3_G5_G9_the_document_is_the_one_that_was_sent(self):
        for name in ("compute/test-nginx", "compute/test-redis", "inference/llama3-8b-inference", "notebook/basic-notebook",
                     "training/env-vars", "training/qwen2-7b-llamafactory-sft"):
            self.create(f"{name}.yaml")
            with open(fixture(f"{name}.yaml"), encoding="utf-8") as file:
                text = file.read()
            job = name.rpartition("/")[2]
            self.assertEqual(self.rest("GET", f"/jobs/{job}")["yamlContent"], text)
            shown = self.document("describe", "job", job)["yaml_content"]
            for key in ("storage", "gpuShare", "healthCheck"):
                self.assertEqual(key in str(shown), key in text, (name, key))
        env = self.document("describe", "job", "env-vars")["yaml_content"]["environment"]["env"]
        self.assertEqual([entry["name"] for entry in env], ["MODEL_NAME", "DATASET", "EPOCHS", "BATCH_SIZE", "LEARNING_RATE",
                                                            "OUTPUT_DIR", "LOG_LEVEL", "SEED", "USE_AMP"])
        nginx = self.document("describe", "job", "test-nginx")
        self.assertEqual(nginx["description"], "a page for people")
        self.assertEqual(self.document("describe", "job", "env-vars").get("description", ""), "")

    def test_G6_a_pod_leads_to_its_job_by_identity_and_not_by_its_name(self):
        self.create("compute/test-nginx.yaml", "compute/new-test-nginx.yaml")
        self.wait_status("new-test-nginx")
        self.wait_status("test-nginx")
        for row in self.rows():
            self.assertEqual(self.document("describe", "job", row["job_id"])["yaml_content"]["job"]["name"], row["name"])

    def test_G10_what_describe_prints_changes_nothing_when_it_is_applied(self):
        for name in ("compute/test-redis", "notebook/notebook-with-port", "inference/new-test-inference-job", "training/env-vars"):
            self.create(f"{name}.yaml")
            job = name.rpartition("/")[2]
            text = self.rest("GET", f"/jobs/{job}")["yamlContent"]
            self.assertIn("unchanged", self.cli("apply", "-f", "-", stdin=text).stdout)


if __name__ == "__main__":
    unittest.main()
