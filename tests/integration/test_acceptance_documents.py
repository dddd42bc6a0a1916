"""Acceptance cases about documents, create and apply, with the command line on the embedded cluster."""

import tempfile
import unittest

from acceptance import (CONFLICT, FAILED, NOT_FOUND, OK, USAGE, Laboratory, fixture, fixtures, service, training)
from support import RUNNING_S, wait_for


class Documents(Laboratory, unittest.TestCase):
    def test_A1_a_missing_file_is_named(self):
        for command in ("create", "apply", "delete"):
            self.assertIn("nonexistent.yaml", self.refused(command, "-f", "nonexistent.yaml", code=NOT_FOUND))

    def test_A2_malformed_yaml_is_an_error_with_its_line_and_makes_nothing(self):
        said = self.refused("create", "-f", "-", stdin="kind: training\njob: {name: a\nresources: 1\n")
        self.assertRegex(said, r"(?i)yaml")
        self.assertRegex(said, r"line 3|:3:")
        self.assertEqual(self.rows(), [])

    def test_A3_an_unknown_kind_is_named(self):
        said = self.refused("create", "-f", "-", stdin="kind: unsupported\njob: {name: a}\n")
        self.assertRegex(said, r"(?i)unsupported ?kind")
        self.assertIn('"unsupported"', said)

    def test_A5_A6_what_is_wrong_with_a_name_or_priority_is_said_with_its_field(self):
        for job in ("{}", "{name: ''}", "{name: " + 64 * "a" + "}"):
            text = training("a").replace("{name: a}", job)
            self.assertIn("job.name", self.refused("create", "-f", "-", stdin=text))
        said = self.refused("create", "-f", "-", stdin=training("a", more=", priority: urgent"))
        self.assertIn("urgent", said)
        self.assertIn("job.priority", said)
        self.create_text(training(63 * "a"))
        self.assertEqual(self.rest("GET", f"/jobs/{63 * 'a'}?namespace=default")["priority"], "medium")

    def test_A7_minus_one_is_no_request_without_gpus(self):
        said = self.refused("create", "-f", "-", stdin=training("a", gpus=-2))
        self.assertIn("resources.gpu", said)
        done = self.daemon.gpuctl("create", "-f", "-", stdin=training("all", gpus=-1), check=False)
        if done.returncode == OK:
            self.wait_status("all")
            self.assertEqual(self.rows()[0]["gpu_total"], 8, "a node whole")
        else:
            self.assertEqual(done.returncode, FAILED, done.stderr)
            self.assertIn("resources.gpu", done.stderr)

    def test_A14_kind_resource_is_kind_pool(self):
        self.create("pool/resource-pool.yaml")
        made = self.rest("GET", "/pools/resource-pool")
        self.cli("delete", "pool", "resource-pool")
        with open(fixture("pool/resource-pool.yaml"), encoding="utf-8") as file:
            self.create_text(file.read().replace("kind: resource", "kind: pool"))
        again = self.rest("GET", "/pools/resource-pool")
        self.assertEqual({**made, "createdAt": ""}, {**again, "createdAt": ""})
        self.assertEqual(made["nodes"], ["node-3"])

    def test_A15_a_quota_of_an_impossible_number_of_gpus_is_refused(self):
        for gpu in ("abc", "-1", "1.5"):
            said = self.refused("create", "-f", "-", stdin=f"kind: quota\nquota: {{name: q}}\nnamespace: {{a: {{gpu: {gpu}}}}}\n")
            self.assertIn("gpu", said)
            self.assertIn(gpu, said)
        self.assertEqual(self.document("get", "quotas"), [])

    def test_A17_every_fixture_is_read_without_an_error(self):
        kinds = {"compute": 4, "inference": 3, "notebook": 5, "pool": 5, "quota": 4, "training": 6}
        for kind, count in kinds.items():
            self.assertEqual(len(fixtures(kind)), count, kind)
            for name in fixtures(kind):
                with self.subTest(name):
                    missing = "non-existent-pool" in name
                    said = self.cli("create", "-f", fixture(name), "--dry-run", code=NOT_FOUND if missing else OK)
                    self.assertIn("PoolNotFound" if missing else "would be created", said.stderr if missing else said.stdout)
        self.assertEqual(self.rows(), [], "a dry run makes nothing")

    def test_B13_a_share_of_no_gpu_is_a_warning(self):
        done = self.cli("create", "-f", fixture("inference/test-inference.yaml"))
        self.assertIn("gpuShare", done.stderr)
        self.assertIn("warning", done.stderr)
        self.wait_status("test-inference")
        self.assertEqual(self.rows()[0]["gpu_total"], 0)


class Create(Laboratory, unittest.TestCase):
    def test_C1_one_file_is_made_and_said_with_name_and_namespace(self):
        self.assertIn("default/test-nginx created", self.create("compute/test-nginx.yaml"))
        self.wait_status("test-nginx")

    def test_C2_several_files_are_all_made_in_both_forms(self):
        self.create("training/test-training.yaml", "compute/test-nginx.yaml")
        self.assertEqual(self.names(), ["test-nginx", "test-training"])
        self.cli("create", "-f", fixture("training/env-vars.yaml"), fixture("training/cpu-training.yaml"))
        self.assertEqual(self.names(), ["cpu-training", "env-vars", "test-nginx", "test-training"])

    def test_C3_the_namespace_of_the_document_wins_over_n(self):
        self.create_text(training("a"), namespace="team-a")
        self.create_text(training("b", namespace="team-b"), namespace="team-a")
        self.assertEqual({row["name"]: row["namespace"] for row in self.rows()}, {"a": "team-a", "b": "team-b"})

    def test_C7_a_missing_pool_is_named_and_nothing_is_made(self):
        said = self.refused("create", "-f", fixture("compute/test-nginx-with-non-existent-pool.yaml"), code=NOT_FOUND)
        self.assertIn("no-such-pool", said)
        self.assertEqual(self.rows(), [])

    def test_C9_C10_C11_a_name_is_taken_for_every_kind_in_its_namespace(self):
        self.create_text(training("a", gpus=1))
        for text in (training("a"), service("a"), service("a", kind="notebook")):
            said = self.refused("create", "-f", "-", stdin=text, code=CONFLICT)
            self.assertIn("already exists", said)
            self.assertIn("apply", said)
        answer = self.document("create", "-f", "-", stdin=training("a"), code=CONFLICT)
        self.assertIn("error", answer[0])
        self.assertEqual(self.rows()[0]["gpu_total"], 1, "the first one is as it was")
        self.create_text(training("b"))
        self.create_text(training("a", namespace="team-a"))
        self.assertEqual(self.names(), ["a", "a", "b"])

    def test_C14_a_service_says_how_it_is_reached(self):
        for kind in ("inference", "notebook", "compute"):
            said = self.create_text(service(f"one-{kind}", kind=kind))
            self.assertIn("Access:", said)
            self.assertIn("8000", said)
        self.assertNotIn("Access:", self.create_text(training("a")))


class Apply(Laboratory, unittest.TestCase):
    def test_D1_a_new_job_of_any_kind_is_created(self):
        for kind, name in (("training", "test-training"), ("inference", "test-inference"), ("notebook", "test-notebook-job"),
                           ("compute", "test-nginx")):
            answer = self.document("apply", "-f", fixture(f"{kind}/{name}.yaml"))
            self.assertEqual(answer[0]["results"][0]["action"], "create")
            self.assertEqual((answer[0]["kind"], answer[0]["results"][0]["name"]), (kind, name))

    def test_D2_a_job_that_exists_is_updated_and_gets_its_second_pod(self):
        self.cli("apply", "-f", "-", stdin=service("web"))
        answer = self.document("apply", "-f", "-", stdin=service("web", replicas=2))
        self.assertEqual(answer[0]["results"][0]["action"], "update")
        wait_for(lambda: [row["status"] for row in self.rows()] == ["Running"] * 2, RUNNING_S, "two pods run", every_s=0.1)
        self.assertIn("unchanged", self.cli("apply", "-f", "-", stdin=service("web", replicas=2)).stdout)

    def test_D3_n_and_the_namespace_of_the_document_are_kept_by_apply(self):
        self.cli("apply", "-f", "-", stdin=service("web"), namespace="team-a")
        self.cli("apply", "-f", "-", stdin=service("other", namespace="team-b"), namespace="team-a")
        self.cli("apply", "-f", "-", stdin=service("other", namespace="team-b", image="example/x:2"))
        self.assertEqual({row["name"]: row["namespace"] for row in self.rows()}, {"web": "team-a", "other": "team-b"})

    def test_D6_a_wrong_new_document_leaves_the_job_as_it_is(self):
        self.cli("apply", "-f", "-", stdin=service("web"))
        before = self.rest("GET", "/jobs/web")
        for text in (service("web").replace("cpu: 1", "cpu: many"), service("web").replace("resources: {", "resources: {pool: none, ")):
            self.assertNotEqual(self.daemon.gpuctl("apply", "-f", "-", "--recreate", stdin=text, check=False).returncode, OK)
        after = self.rest("GET", "/jobs/web")
        self.assertEqual([after[key] for key in ("uid", "yamlContent", "resourceVersion")],
                         [before[key] for key in ("uid", "yamlContent", "resourceVersion")])

    def test_D7_nodes_leave_join_and_stay_in_a_pool(self):
        def pool(*nodes):
            return "kind: pool\npool: {name: p}\nnodes: {" + ", ".join(f"{name}: {{gpuType: {gpu}}}" for name, gpu in nodes) + "}\n"

        self.cli("apply", "-f", "-", stdin=pool(("node-1", "A100-80G"), ("node-2", "A100-80G")))
        self.cli("apply", "-f", "-", stdin=pool(("node-2", "H100"), ("node-3", "A100-80G")))
        labels = {name: self.rest("GET", f"/nodes/{name}/labels")["labels"] for name in ("node-1", "node-2", "node-3")}
        self.assertNotIn("runwhere.ai/pool", labels["node-1"])
        self.assertEqual([labels[name]["runwhere.ai/pool"] for name in ("node-2", "node-3")], ["p", "p"])
        self.assertEqual(labels["node-2"]["runwhere.ai/gpu-type"], "H100")

    def test_D9_apply_without_a_file_is_an_error(self):
        self.cli("apply", code=USAGE)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as empty:
            self.assertIn(empty.name.rpartition("/")[2], self.refused("apply", "-f", empty.name))


if __name__ == "__main__":
    unittest.main()
