"""Acceptance cases about delete and logs, with the command line on the embedded cluster."""

import json
import signal
import subprocess
import time
import unittest

from acceptance import CONFLICT, FORBIDDEN, NOT_FOUND, UNMET, Laboratory, fixture, service, training
from support import BINARIES, RUNNING_S, wait_for


class Jobs(Laboratory, unittest.TestCase):
    def test_H1_every_kind_is_deleted_by_its_exact_name(self):
        names = ("inference/test-inference", "compute/test-nginx", "notebook/test-notebook-job", "training/test-training")
        self.create(*[f"{name}.yaml" for name in names])
        for name in names:
            answer = self.document("delete", "job", name.rpartition("/")[2])
            self.assertEqual((answer["job_name"], answer["status"]), (name.rpartition("/")[2], "success"))
        wait_for(lambda: not self.rows(), RUNNING_S, "all are gone", every_s=0.1)

    def test_H2_H3_a_part_of_a_name_or_an_unknown_name_deletes_nothing(self):
        self.create("inference/new-test-inference-job.yaml")
        for name in ("new-test", "new-test-inference", "nobody"):
            self.assertIn(name, self.refused("delete", "job", name, code=NOT_FOUND))
        self.assertEqual(set(self.names()), {"new-test-inference-job"})

    def test_H5_H10_delete_f_takes_every_file_and_the_namespace_of_its_document(self):
        here = fixture("compute/test-nginx.yaml"), fixture("training/env-vars.yaml")
        self.cli("create", "-f", *here)
        text = training("far", namespace="team-a")
        self.create_text(text)
        self.create_text(training("far"))
        self.cli("delete", "-f", "-", stdin=text)
        self.wait_gone("far", "team-a")
        self.cli("delete", "-f", *here)
        self.wait_gone("test-nginx")
        self.wait_gone("env-vars")
        self.assertEqual(self.names(), ["far"])

    def test_H6_the_same_name_in_two_namespaces_needs_n(self):
        self.create_text(training("a") + "---\n" + training("a", namespace="ml-team"))
        said = self.refused("delete", "job", "a", code=CONFLICT)
        self.assertIn("namespace", said)
        self.assertIn("ml-team", said)
        self.assertIn("error", self.document("delete", "job", "a", code=CONFLICT))
        self.assertEqual(len(self.rows()), 2)
        self.cli("delete", "job", "a", "-n", "ml-team")
        self.wait_gone("a", "ml-team")
        self.assertEqual([row["namespace"] for row in self.rows()], ["default"])

    def test_H9_waiting_ends_at_once_or_says_that_it_is_still_terminating(self):
        self.create_text(training("quick"))
        began = time.monotonic()
        self.cli("delete", "job", "quick", "--force", "--wait")
        self.assertLess(time.monotonic() - began, 10)
        self.create_text(training("slow", GPUCTL_SIM_RUN_TIME="600s"))
        self.wait_status("slow")
        said = self.refused("delete", "job", "slow", "--wait", "--timeout", "1ms", code=UNMET)
        self.assertIn("slow", said)


class Policy(Laboratory, unittest.TestCase):
    def test_H11_a_pool_is_deleted_unless_jobs_use_it(self):
        self.create("pool/test-pool.yaml")
        self.create_text(training("user").replace("resources: {", "resources: {pool: test-pool, "))
        said = self.refused("delete", "pool", "test-pool", code=CONFLICT)
        self.assertIn("user", said)
        self.assertEqual(self.rest("GET", "/nodes/node-1/labels")["labels"]["runwhere.ai/pool"], "test-pool")
        self.cli("delete", "job", "user", "--force", "--wait")
        self.cli("delete", "pool", "test-pool")
        self.assertNotIn("runwhere.ai/pool", self.rest("GET", "/nodes/node-1/labels")["labels"])
        self.assertIn("test-pool", self.refused("delete", "pool", "test-pool", code=NOT_FOUND))

    def test_H11_force_deletes_a_pool_that_jobs_use(self):
        self.create("pool/test-pool.yaml")
        self.create_text(training("user").replace("resources: {", "resources: {pool: test-pool, "))
        self.cli("delete", "pool", "test-pool", "--force")
        self.assertEqual(self.names(), ["user"], "the job itself stays")

    def test_H13_H15_a_quota_is_deleted_after_a_question_and_nothing_else_with_it(self):
        self.create("quota/test-quota.yaml")
        self.create_text(training("stays", namespace="team-lab"))
        self.assertIn("cancelled", self.cli("delete", "quota", "tesla-quota", stdin="n\n").stdout)
        self.assertEqual(len(self.document("get", "quotas")), 4)
        self.cli("delete", "quota", "tesla-quota", stdin="y\n")
        self.assertEqual(self.document("get", "quotas"), [])
        self.assertIn("team-lab", [row["name"] for row in self.document("get", "ns")])
        self.assertEqual(self.names(), ["stays"])

    def test_H14_only_a_namespace_that_was_made_here_is_deleted(self):
        self.create("quota/test-quota.yaml")
        for name, code in (("kube-system", (NOT_FOUND, FORBIDDEN)), ("nobody", (NOT_FOUND,)), ("default", (FORBIDDEN, CONFLICT))):
            done = self.daemon.gpuctl("delete", "ns", name, "--force", check=False)
            self.assertIn(done.returncode, code, done.stderr)
            self.assertIn(name, done.stderr)
        self.assertIn("cancelled", self.cli("delete", "ns", "team-lab", stdin="n\n").stdout)
        self.assertIn("team-lab", [row["name"] for row in self.document("get", "ns")])
        self.document("delete", "ns", "team-lab")
        self.assertNotIn("team-lab", [row["name"] for row in self.document("get", "ns")])
        self.assertIn("team-lab", self.refused("delete", "ns", "team-lab", "--force", code=NOT_FOUND))


class Logs(Laboratory, unittest.TestCase):
    def test_I1_I2_I3_I6_the_log_of_each_kind_is_found_by_the_name_of_its_job(self):
        self.create("compute/test-redis.yaml", "training/test-training.yaml", "notebook/test-notebook-job.yaml")
        for name in ("test-redis", "test-training", "test-notebook-job"):
            self.wait_status(name)
            lines = self.cli("logs", name).stdout.splitlines()
            self.assertIn("starting", lines[0])
            answer = self.document("logs", name)
            self.assertEqual(answer["namespace"], "default")
            self.assertEqual(answer["logs"][0], lines[0])
            self.assertTrue(answer["pod_name"].startswith(f"{name}-"), answer["pod_name"])
            self.assertEqual(self.document("logs", answer["pod_name"])["logs"][0], lines[0])

    def test_I5_following_shows_each_line_once_and_ends_well_with_ctrl_c(self):
        self.create_text(training("talks", GPUCTL_SIM_RUN_TIME="600s", GPUCTL_SIM_LOG_INTERVAL="50ms"))
        self.wait_status("talks")
        reader = subprocess.Popen([str(BINARIES / "gpuctl"), "logs", "-f", "talks", "--server", f"http://127.0.0.1:{self.daemon.port}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(reader.communicate)
        self.addCleanup(reader.kill)
        lines = [reader.stdout.readline() for _ in range(30)]
        reader.send_signal(signal.SIGINT)
        lines += reader.stdout.readlines()
        self.assertIn(reader.wait(20), (0, 130))
        source = self.document("logs", "talks", "--tail", "10000")["logs"]
        self.assertEqual([line.rstrip("\n") for line in lines], source[:len(lines)])

    def test_I7_an_unknown_job_or_namespace_is_not_found(self):
        self.create_text(training("a"))
        self.assertIn("nobody", self.refused("logs", "nobody", code=NOT_FOUND))
        said = self.refused("logs", "a", "-n", "nowhere", code=NOT_FOUND)
        self.assertIn("nowhere", said)
        self.assertEqual(json.loads(self.cli("logs", "a", "-n", "nowhere", "--json", code=NOT_FOUND).stdout)["code"], "JobNotFound")


if __name__ == "__main__":
    unittest.main()
