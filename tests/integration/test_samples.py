"""The seven job samples of the product documents (config/examples) from create to delete, on the embedded
cluster and on the real API server; and the broken originals with their messages."""

import json
import subprocess
import unittest

from support import BINARIES, EXAMPLES, Daemon, RUNNING_S, free_port, shared_testbed, unique, wait_for, Process

JOB_KINDS = ("training", "inference", "notebook", "compute")
BROKEN = EXAMPLES / "broken"


def samples():
    """(file, job name, kind) of every job document among the examples."""
    found = []
    for file in sorted(EXAMPLES.glob("*.yaml")):
        text = file.read_text()
        kind = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("kind:")), "")
        kind = kind.split("#")[0].strip().strip("'\"")
        if kind not in JOB_KINDS:
            continue
        lines = iter(text.splitlines())
        for line in lines:
            if line.startswith("job:"):
                break
        name = next(line.split(":", 1)[1].split("#")[0].strip().strip("'\"") for line in lines if line.strip().startswith("name:"))
        found.append((file, name, kind))
    return found


class Samples:
    """Mixed into one class per kind of cluster; needs `daemon` and `namespace`."""

    def row(self, name):
        return next((row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}&pageSize=100")
                     if row["name"] == name), None)

    def test_there_are_seven(self):
        self.assertEqual(len(samples()), 7, [name for _, name, _ in samples()])

    def test_each_goes_from_create_to_running_is_followed_and_deleted(self):
        for file, name, kind in samples():
            with self.subTest(sample=file.name):
                self.daemon.gpuctl("create", "-f", str(file), namespace=self.namespace)
                self.addCleanup(self.daemon.rest, "DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}&force=true")
                wait_for(lambda: (self.row(name) or {}).get("status") == "Running", RUNNING_S,
                         lambda: f"{name} Running; it is {self.row(name)}", every_s=0.2)
                self.assertEqual(self.row(name)["kind"], kind)
                self.follow(name)
                described = self.daemon.gpuctl("describe", "job", name, namespace=self.namespace).stdout
                self.assertIn(name, described)
                self.daemon.gpuctl("delete", "job", name, namespace=self.namespace)
                wait_for(lambda: self.row(name) is None, RUNNING_S, lambda: f"{name} gone; it is {self.row(name)}", every_s=0.2)

    def follow(self, name):
        """`gpuctl logs -f` prints lines while the job runs; ended by us."""
        output = self.daemon.folder / f"follow-{name}.log"
        reader = Process("gpuctl", [BINARIES / "gpuctl", "logs", "-f", name, "-n", self.namespace, "--server",
                                    f"http://127.0.0.1:{self.daemon.port}"], output)
        try:
            wait_for(lambda: len(output.read_text().splitlines()) >= 2, RUNNING_S,
                     lambda: f"two lines of {name}'s log; got {output.read_text()!r}", every_s=0.1)
        finally:
            reader.kill()

    def test_several_files_in_one_call(self):
        chosen = samples()[:2]
        flags = [word for file, *_ in chosen for word in ("-f", str(file))]
        self.daemon.gpuctl("create", *flags, namespace=self.namespace)
        for _, name, _ in chosen:
            self.assertIsNotNone(self.row(name))
            self.daemon.gpuctl("delete", "job", name, "--force", namespace=self.namespace)
        for _, name, _ in chosen:
            wait_for(lambda: self.row(name) is None, RUNNING_S, f"{name} gone", every_s=0.2)

    def test_the_same_job_twice_is_a_conflict(self):
        file, name, _ = samples()[0]
        self.daemon.gpuctl("create", "-f", str(file), namespace=self.namespace)
        self.addCleanup(self.daemon.rest, "DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}&force=true")
        again = self.daemon.gpuctl("create", "-f", str(file), namespace=self.namespace, check=False)
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertIn(name, again.stderr)
        self.daemon.gpuctl("delete", "job", name, "--force", namespace=self.namespace)
        wait_for(lambda: self.row(name) is None, RUNNING_S, f"{name} gone", every_s=0.2)

    def test_what_can_never_fit_is_said_at_submit(self):
        answer = self.daemon.gpuctl("create", "-f", "-", check=False, namespace=self.namespace, stdin=(
            "kind: training\njob: {name: too-big}\nenvironment: {image: a}\n"
            "resources: {pool: training-pool, gpu: 512, cpu: 8, memory: 32Gi}\n"))
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("512", answer.stderr)
        self.assertIn("8", answer.stderr.replace("512", ""), "what the largest node offers")

    def test_the_broken_originals_get_good_messages(self):
        files = sorted(BROKEN.glob("*.yaml"))
        self.assertGreaterEqual(len(files), 3, f"{BROKEN} holds the broken originals")
        for file in files:
            with self.subTest(file=file.name):
                answer = self.daemon.gpuctl("create", "-f", str(file), check=False, namespace=self.namespace)
                self.assertNotEqual(answer.returncode, 0, answer.stdout)
                self.assertIn(file.name, answer.stderr)
                self.assertNotIn("terminate called", answer.stderr)


class SamplesEmbedded(Samples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.namespace = "default"
        cls.daemon = Daemon({"server": {"port": free_port()}}).start()
        cls.addClassCleanup(cls.daemon.stop)


class SamplesOnTheApiServer(Samples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.namespace = cls.bed.create_namespace(unique("samples"))
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_training_becomes_an_indexed_job_that_a_kubernetes_user_can_read(self):
        file, name, _ = next(sample for sample in samples() if sample[2] == "training")
        self.daemon.gpuctl("create", "-f", str(file), namespace=self.namespace)
        try:
            job = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}", as_role="alice")
            self.assertEqual(job["spec"]["template"]["spec"]["schedulerName"], "gpuctl")
            self.assertFalse(job["spec"].get("suspend", False))
            self.assertEqual(job["spec"]["completionMode"], "Indexed")
            self.assertIn("runwhere.ai/gang", job["spec"]["template"]["metadata"]["labels"])
            self.assertEqual(job["metadata"]["managedFields"][0]["manager"], "gpuctld")
        finally:
            self.daemon.gpuctl("delete", "job", name, "--force", namespace=self.namespace)

    def test_inference_becomes_a_deployment_with_a_service_that_it_owns(self):
        file, name, _ = next(sample for sample in samples() if sample[2] == "inference")
        self.daemon.gpuctl("create", "-f", str(file), namespace=self.namespace)
        try:
            deployment = self.bed.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}")
            service = wait_for(lambda: next((item for item in self.bed.get(
                f"/api/v1/namespaces/{self.namespace}/services")["items"] if item["metadata"]["name"] == f"svc-{name}"), None),
                RUNNING_S, "the service")
            self.assertEqual(service["metadata"]["ownerReferences"][0]["uid"], deployment["metadata"]["uid"])
        finally:
            self.daemon.gpuctl("delete", "job", name, "--force", namespace=self.namespace)


class Json(unittest.TestCase):
    def test_every_list_is_one_json_document(self):
        with Daemon({"server": {"port": free_port()}}) as daemon:
            for kind in ("jobs", "pools", "nodes", "queues"):
                json.loads(daemon.gpuctl("get", kind, "--json").stdout)

    def test_an_unreachable_server_is_exit_7(self):
        done = subprocess.run([str(BINARIES / "gpuctl"), "get", "jobs", "--server", f"http://127.0.0.1:{free_port()}"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)


if __name__ == "__main__":
    unittest.main()
