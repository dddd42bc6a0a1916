"""The seven job samples of the product documents (config/examples) from create to delete, on the embedded
cluster and on the real API server; and the broken originals with their messages."""

import json
import re
import subprocess
import unittest

from support import BINARIES, EXAMPLES, RUNNING_S, SHORT_LEASE, Daemon, Process, free_port, shared_testbed, unique, wait_for

JOB_KINDS = ("training", "inference", "notebook", "compute")
BROKEN = EXAMPLES / "broken"
# Of the broken originals, the place of the fault and what it is.
FAULTS = {"backtick.yaml": ("11:155", "backtick"), "create-body.json": ("2:84", "JSON has no comments"),
          "elided.yaml": ("1:1", "environment is missing"), "tab-indent.yaml": ("5:1", "TAB")}
# Samples of gpuctl itself, besides those of the product documents.
OWN = ("gang-training.yaml", "elastic-training.yaml", "models-training.yaml", "topology-training.yaml")

PLACE = "\nserver: {port: {port}}\njournal: {directory: {journal}}\n"


class Sample:
    def __init__(self, file):
        self.file = file
        text = file.read_text()

        def value(key, within):
            found = re.search(rf"(?m)^  {key}: *['\"]?([^'\"#\n]+?)['\"]? *(#.*)?$", within)
            return found.group(1) if found else None

        self.kind = re.search(r"(?m)^kind: *(\w+)", text).group(1)
        job = text.split("\njob:", 1)[1].split("\nenvironment:", 1)[0]
        self.name = value("name", job)
        self.namespace = value("namespace", job)


def samples():
    """Every job document among the examples: the seven of the product documents, a gang, an elastic job, one for racks."""
    return [Sample(file) for file in sorted(EXAMPLES.glob("*.yaml"))
            if re.search(rf"(?m)^kind: *({'|'.join(JOB_KINDS)})", file.read_text())]


class Samples:
    """Mixed into one class per kind of cluster; needs `daemon` and `namespace`."""

    MADE_HERE = ("quota.yaml",)  # of the broken originals: what is taken as it is

    def row(self, sample):
        namespace = sample.namespace or self.namespace
        return next((row for row in self.daemon.items(f"/api/v1/jobs?namespace={namespace}&pageSize=100")
                     if row["name"] == sample.name), None)

    def gone(self, sample):
        wait_for(lambda: self.row(sample) is None, RUNNING_S, lambda: f"{sample.name} gone; it is {self.row(sample)}", every_s=0.2)

    def create(self, *chosen, check=True):
        flags = [word for sample in chosen for word in ("-f", str(sample.file))]
        for sample in chosen:
            self.addCleanup(self.daemon.rest, "DELETE",
                            f"/api/v1/jobs/{sample.name}?namespace={sample.namespace or self.namespace}&force=true")
        return self.daemon.gpuctl("create", *flags, namespace=self.namespace, check=check)

    def delete(self, sample, *flags):
        self.daemon.gpuctl("delete", "job", sample.name, *flags, namespace=sample.namespace or self.namespace)

    def test_the_seven_are_all_here(self):
        self.assertEqual(sorted(sample.kind for sample in samples() if sample.file.name not in OWN),
                         ["compute", "inference", "inference", "notebook", "notebook", "training", "training"])

    def test_each_goes_from_create_to_running_is_followed_and_deleted(self):
        for sample in samples():
            with self.subTest(sample=sample.file.name):
                self.create(sample)
                wait_for(lambda: (self.row(sample) or {}).get("status") == "Running", RUNNING_S,
                         lambda: f"{sample.name} Running; it is {self.row(sample)}", every_s=0.2)
                self.assertEqual(self.row(sample)["kind"], sample.kind)
                self.follow(sample)
                described = self.daemon.gpuctl("describe", "job", sample.name, namespace=sample.namespace or self.namespace).stdout
                self.assertIn(sample.name, described)
                self.delete(sample)
                self.gone(sample)

    def apply(self, sample, *flags, text=None, check=True):
        """Of the sample, or of another text for it."""
        return self.daemon.gpuctl("apply", "-f", "-", *flags, namespace=self.namespace, check=check, stdin=text or sample.file.read_text())

    def detail(self, sample):
        return self.daemon.get(f"/api/v1/jobs/{sample.name}?namespace={sample.namespace or self.namespace}")

    def all_run(self, chosen):
        for sample in chosen:
            wait_for(lambda: self.detail(sample)["status"] == "Running", RUNNING_S,
                     lambda: f"{sample.name} Running; it is {self.row(sample)}", every_s=0.2)

    def test_the_seven_are_applied_paused_resumed_and_deleted(self):
        chosen = [sample for sample in samples() if sample.file.name not in OWN]
        self.create(*chosen)
        self.all_run(chosen)
        for sample in chosen:
            with self.subTest(sample=sample.file.name):
                text, uid = sample.file.read_text(), self.detail(sample)["uid"]
                self.assertIn("unchanged", self.apply(sample).stdout)
                described = re.sub(r"(?m)^  description:.*$", "  description: changed", text)
                self.assertIn("updated (job.description)", self.apply(sample, text=described).stdout)
                self.assertEqual(self.detail(sample)["uid"], uid)
                # The pods of a Job cannot change, nor can the kind of any.
                wrong, field = (re.sub(r"(?m)^  image:.*$", "  image: example/another:1", described), "environment.image") \
                    if sample.kind == "training" else (re.sub(r"(?m)^kind:.*$", "kind: training", described), "kind")
                refused = self.apply(sample, text=re.sub(r"(?m)^service:\n(  .*\n)+", "", wrong) if field == "kind" else wrong, check=False)
                self.assertEqual(refused.returncode, 4, refused.stderr)
                self.assertIn(field, refused.stderr)
                self.assertEqual(self.detail(sample)["uid"], uid)
        self.all_run(chosen)
        for verb in ("pause", "resume"):
            for sample in chosen:
                self.daemon.gpuctl(verb, sample.name, namespace=sample.namespace or self.namespace)
            if verb == "pause":
                for sample in chosen:
                    self.assertTrue(self.detail(sample)["pause"], sample.name)
                    wait_for(lambda: not self.detail(sample)["pods"], RUNNING_S, f"the pods of {sample.name} are gone", every_s=0.2)
        self.all_run(chosen)
        for sample in chosen:
            self.assertFalse(self.detail(sample)["pause"], sample.name)
            self.delete(sample, "--force")
        for sample in chosen:
            self.gone(sample)

    def follow(self, sample):
        """`gpuctl logs -f` prints lines while the job runs; ended by us."""
        output = self.daemon.folder / f"follow-{sample.name}.log"
        output.unlink(missing_ok=True)
        reader = Process("gpuctl", [BINARIES / "gpuctl", "logs", "-f", sample.name, "-n", sample.namespace or self.namespace,
                                    "--server", f"http://127.0.0.1:{self.daemon.port}"], output)
        try:
            wait_for(lambda: len(output.read_text().splitlines()) >= 2, RUNNING_S,
                     lambda: f"two lines of {sample.name}'s log; got {output.read_text()!r}", every_s=0.1)
        finally:
            reader.kill()

    def test_several_files_in_one_call(self):
        chosen = samples()[:2]
        self.create(*chosen)
        for sample in chosen:
            self.assertIsNotNone(self.row(sample))
            self.delete(sample, "--force")
        for sample in chosen:
            self.gone(sample)

    def test_the_same_job_twice_is_a_conflict(self):
        sample = samples()[0]
        self.create(sample)
        again = self.create(sample, check=False)
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertIn(sample.name, again.stderr)
        self.delete(sample, "--force")
        self.gone(sample)

    def test_what_can_never_fit_is_refused_at_submit(self):
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
            if file.name in self.MADE_HERE:
                continue
            with self.subTest(file=file.name):
                answer = self.daemon.gpuctl("create", "-f", str(file), check=False, namespace=self.namespace)
                self.assertNotEqual(answer.returncode, 0, answer.stdout)
                self.assertIn(file.name, answer.stderr)
                self.assertNotIn("terminate called", answer.stderr)
                for words in FAULTS.get(file.name, ()):
                    self.assertIn(words, answer.stderr)


class SamplesEmbedded(Samples, unittest.TestCase):
    """With the example configuration exactly as it is shipped, but for port and journal."""

    @classmethod
    def setUpClass(cls):
        cls.namespace = "default"
        cls.daemon = Daemon(text=(EXAMPLES / "gpuctld.yaml").read_text() + PLACE).start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_the_original_quota_becomes_one_of_each_of_its_namespaces(self):
        file = str(BROKEN / "quota.yaml")
        self.daemon.gpuctl("create", "-f", file)
        quotas = {row["namespace"]: row["hard"]["gpu"] for row in self.daemon.items("/api/v1/quotas")}
        self.assertEqual({name: quotas.get(name) for name in ("elon-musk", "sam-altman")}, {"elon-musk": "4", "sam-altman": "4"})
        again = self.daemon.gpuctl("create", "-f", file, check=False)
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertIn("quota.yaml", again.stderr)
        self.daemon.gpuctl("delete", "-f", file, "--force")
        self.assertNotIn("elon-musk", [row["namespace"] for row in self.daemon.items("/api/v1/quotas")])


class SamplesOnTheApiServer(Samples, unittest.TestCase):
    """Likewise; the testbed has the pools, the secret and the namespaces they name."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.namespace = cls.bed.create_namespace(unique("samples"))
        for namespace in (cls.namespace, *{sample.namespace for sample in samples() if sample.namespace}):
            cls.bed.create_namespace(namespace)
            cls.bed.create_pull_secret(namespace)
        text = (EXAMPLES / "gpuctld-kubernetes.yaml").read_text().replace(
            "\n  kubernetes:\n", f"\n  kubernetes:\n    kubeconfig: {{kubeconfig}}\n    lease: {json.dumps(SHORT_LEASE)}\n"
            "    bindTimeout: 1s\n")
        cls.daemon = Daemon(bed=cls.bed, text=text + PLACE).start()
        cls.addClassCleanup(cls.daemon.stop)

    def sample(self, name):
        return Sample(EXAMPLES / name)

    def test_training_becomes_an_indexed_job_that_a_kubernetes_user_can_read(self):
        sample = self.sample("training.yaml")
        self.create(sample)
        job = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{sample.name}", as_role="alice")
        self.assertEqual(job["spec"]["template"]["spec"]["schedulerName"], "gpuctl")
        self.assertFalse(job["spec"].get("suspend", False))
        self.assertEqual(job["spec"]["completionMode"], "Indexed")
        self.assertIn("runwhere.ai/gang", job["spec"]["template"]["metadata"]["labels"])
        self.assertIn("gpuctl", [entry["manager"] for entry in job["metadata"]["managedFields"] if entry["operation"] == "Apply"])
        self.delete(sample, "--force")
        self.gone(sample)

    def test_inference_becomes_a_deployment_with_a_service_that_it_owns(self):
        sample = self.sample("inference.yaml")
        self.create(sample)
        deployment = self.bed.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{sample.name}")
        service = wait_for(lambda: next((item for item in self.bed.get(f"/api/v1/namespaces/{self.namespace}/services")["items"]
                                         if item["metadata"]["name"] == f"svc-{sample.name}"), None), RUNNING_S, "the service")
        self.assertEqual(service["metadata"]["ownerReferences"][0]["uid"], deployment["metadata"]["uid"])
        self.delete(sample, "--force")
        self.gone(sample)
        wait_for(lambda: not [item for item in self.bed.get(f"/api/v1/namespaces/{self.namespace}/services")["items"]
                              if item["metadata"]["name"] == f"svc-{sample.name}"], RUNNING_S, "the service goes with it")


class Json(unittest.TestCase):
    def test_every_list_is_one_json_document(self):
        with Daemon() as daemon:
            for kind in ("jobs", "pools", "nodes", "queues"):
                json.loads(daemon.gpuctl("get", kind, "--json").stdout)

    def test_an_unreachable_server_is_exit_7(self):
        done = subprocess.run([str(BINARIES / "gpuctl"), "get", "jobs", "--server", f"http://127.0.0.1:{free_port()}"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)


if __name__ == "__main__":
    unittest.main()
