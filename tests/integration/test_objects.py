"""The objects that a submitted job becomes on a real API server, besides its workload and Service: volumes that outlive
the job, DeepSpeed files, and what operators add to pods."""

import json
import time
import unittest

from support import RUNNING_S, Daemon, create_volume, shared_testbed, unique, wait_for

DEFAULTS = [
    {"seccompProfile": "RuntimeDefault", "environment": {"NCCL_SOCKET_IFNAME": "eth7"}},
    {"pool": "training-pool", "runAsUser": 1000, "fsGroup": 1002,
     "tolerations": [{"key": "example.com/lab", "effect": "NoSchedule"}]},
]
NOTEBOOK = ("kind: notebook\njob: {{name: {name}}}\nenvironment: {{image: a}}\n"
            "resources: {{pool: dev-pool, gpu: 1, cpu: 1, memory: 1Gi}}\n"
            "storage: {{data: {{mountPath: /home/data, size: {size}}}}}\n")
TRAINING = ("kind: training\njob: {{name: {name}}}\nenvironment: {{image: a, command: [train, --deepspeed, ds_config.json]}}\n"
            "resources: {{pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi, nodeCount: 2}}\n")


class JobObjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon({"cluster": {"kubernetes": {"podDefaults": DEFAULTS}}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("objects"))
        self.addCleanup(wait_for, lambda: not self.bed.pods(self.namespace), RUNNING_S, "all pods are gone", every_s=0.2)

    def create(self, text, query="", expect=201):
        status, body = self.daemon.rest("POST", f"/api/v1/jobs?namespace={self.namespace}{query}", text)
        self.assertEqual(status, expect, body)
        return body

    def delete(self, name):
        self.daemon.rest("DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}")
        wait_for(lambda: self.daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={self.namespace}")[0] == 404, RUNNING_S,
                 f"{name} is gone", every_s=0.2)

    def read(self, resource, name, group="api/v1"):
        return self.bed.api("GET", f"/{group}/namespaces/{self.namespace}/{resource}/{name}")

    def wait_running(self, name):
        wait_for(lambda: self.daemon.job(name, self.namespace).get("status") == "Running", RUNNING_S,
                 lambda: f"{name} runs: {self.daemon.job(name, self.namespace)}", every_s=0.2)

    def test_a_volume_of_a_notebook_outlives_it_and_serves_the_next_one(self):
        volume = create_volume(self.bed, self.namespace, "nb-data")
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/persistentvolumes/{volume}")
        self.create(NOTEBOOK.format(name="nb", size="5Gi"))
        self.wait_running("nb")
        status, claim = self.read("persistentvolumeclaims", "nb-data")
        self.assertEqual(status, 200)
        self.assertEqual(claim["spec"]["resources"]["requests"]["storage"], "5Gi")
        self.assertEqual(claim["metadata"]["labels"]["app.kubernetes.io/managed-by"], "gpuctl")
        template = self.read("statefulsets", "nb", "apis/apps/v1")[1]["spec"]["template"]["spec"]
        self.assertEqual(template["volumes"][0]["persistentVolumeClaim"]["claimName"], "nb-data")
        self.assertEqual(template["containers"][0]["volumeMounts"][0]["mountPath"], "/home/data")
        self.delete("nb")
        self.assertEqual(self.read("persistentvolumeclaims", "nb-data")[1]["metadata"]["uid"], claim["metadata"]["uid"])
        refused = self.create(NOTEBOOK.format(name="nb", size="6Gi"), expect=409)
        self.assertIn("exists with 5Gi and storage.data.size is 6Gi", json.dumps(refused))
        self.assertEqual(self.read("statefulsets", "nb", "apis/apps/v1")[0], 404, "nothing half created")
        self.create(NOTEBOOK.format(name="nb", size="5Gi"))
        self.wait_running("nb")
        self.assertEqual(self.read("persistentvolumeclaims", "nb-data")[1]["metadata"]["uid"], claim["metadata"]["uid"])
        self.delete("nb")

    def test_a_dry_run_makes_no_claim(self):
        self.create(NOTEBOOK.format(name="dry", size="5Gi"), query="&dryRun=true", expect=200)
        self.assertEqual(self.read("persistentvolumeclaims", "dry-data")[0], 404)
        self.assertEqual(self.read("statefulsets", "dry", "apis/apps/v1")[0], 404)

    def test_a_deepspeed_file_that_a_job_names_comes_and_goes_with_it(self):
        self.create(TRAINING.format(name="sft"))
        self.wait_running("sft")
        status, files = self.read("configmaps", "sft-deepspeed")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(files["data"]["ds_config.json"])["zero_optimization"]["stage"], 2)
        job = self.read("jobs", "sft", "apis/batch/v1")[1]
        self.assertEqual(files["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"])
        container = job["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["command"][-3:], ["train", "--deepspeed", "ds_config.json"])
        self.assertEqual(container["volumeMounts"][0]["mountPath"], "/etc/gpuctl/deepspeed")
        self.delete("sft")
        wait_for(lambda: self.read("configmaps", "sft-deepspeed")[0] == 404, RUNNING_S, "its ConfigMap is gone", every_s=0.2)

    def test_pods_get_what_the_operator_configured_and_ranks_prefer_a_rack(self):
        self.create(TRAINING.format(name="wide"))
        self.wait_running("wide")
        for pod in self.bed.pods(self.namespace):
            spec = pod["spec"]
            self.assertEqual(spec["securityContext"], {"runAsUser": 1000, "fsGroup": 1002, "seccompProfile": {"type": "RuntimeDefault"}})
            self.assertIn({"key": "example.com/lab", "operator": "Exists", "effect": "NoSchedule"}, spec["tolerations"])
            self.assertIn({"name": "NCCL_SOCKET_IFNAME", "value": "eth7"}, spec["containers"][0]["env"])
            self.assertEqual(pod["metadata"]["annotations"]["runwhere.ai/preferred-topology"], "rack")
            self.assertEqual(pod["metadata"]["labels"]["app.kubernetes.io/component"], "training")
        self.delete("wide")

    def test_variables_of_nccl_come_from_labels_of_the_nodes_unless_the_pool_or_the_user_says_otherwise(self):
        nodes = [node["metadata"]["name"] for node in self.bed.get("/api/v1/nodes?labelSelector=runwhere.ai/pool=training-pool")["items"]]
        self.daemon.gpuctl("label", *nodes, "network-interface=eth3")
        self.addCleanup(self.daemon.gpuctl, "label", *nodes, "network-interface", "--delete")
        self.create(TRAINING.format(name="nccl"))
        self.wait_running("nccl")
        container = self.read("jobs", "nccl", "apis/batch/v1")[1]["spec"]["template"]["spec"]["containers"][0]
        values = {entry["name"]: entry.get("value") for entry in container["env"]}
        self.assertEqual(values["NCCL_SOCKET_IFNAME"], "eth7", "the pool's environment wins")
        self.assertEqual(values["GLOO_SOCKET_IFNAME"], "eth3")
        self.delete("nccl")

    def test_what_the_kubelet_reports_is_among_the_events_of_the_job(self):
        self.create(TRAINING.format(name="seen"))
        self.wait_running("seen")
        pod = self.bed.pods(self.namespace)[0]["metadata"]
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.bed.api("POST", f"/api/v1/namespaces/{self.namespace}/events", {
            "metadata": {"name": "seen.1"}, "type": "Warning", "reason": "Unhealthy", "message": "Readiness probe failed: 503",
            "involvedObject": {"kind": "Pod", "namespace": self.namespace, "name": pod["name"], "uid": pod["uid"]},
            "source": {"component": "kubelet"}, "count": 2, "firstTimestamp": at, "lastTimestamp": at}, expect=(201,))

        def events():
            return {(event["from"], event["reason"]) for event in self.daemon.job("seen", self.namespace)["events"]}

        wait_for(lambda: ("kubelet", "Unhealthy") in events(), RUNNING_S, events, every_s=0.5)
        self.assertIn(("gpuctld", "Submitted"), events(), "our own as well")
        self.assertNotIn("gpuctl", {source for source, _ in events()}, "our own once")
        text = self.daemon.gpuctl("describe", "job", "seen", namespace=self.namespace).stdout
        self.assertIn("Readiness probe failed: 503", text)
        listed = self.daemon.gpuctl("get", "events", "-o", "json", namespace=self.namespace).stdout
        self.assertIn("Readiness probe failed: 503", listed)
        times = [event["time"] for event in self.daemon.job("seen", self.namespace)["events"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.delete("seen")


class Namespaces(unittest.TestCase):
    """Jobs are created in namespaces that exist, are managed, and are not being deleted."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def refusal(self, namespace, verb="POST", path="jobs"):
        status, body = self.daemon.rest(verb, f"/api/v1/{path}?namespace={namespace}", TRAINING.format(name="x"))
        self.assertEqual(self.bed.api("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/x")[0], 404, "nothing is made")
        return status, body.get("error"), body.get("message", "")

    def test_c5_a_namespace_that_does_not_exist_is_to_be_created_first(self):
        for verb, path in (("POST", "jobs"), ("PUT", "jobs/x")):
            status, code, message = self.refusal(unique("nowhere"), verb, path)
            self.assertEqual((status, code), (404, "NamespaceNotFound"), message)
            self.assertIn("kubectl create namespace", message)

    def test_c6_a_namespace_that_is_not_managed_is_refused_until_it_has_the_label(self):
        name = self.bed.create_namespace(unique("foreign"), managed=False)
        for verb, path in (("POST", "jobs"), ("PUT", "jobs/x")):
            _, code, message = self.refusal(name, verb, path)
            self.assertEqual(code, "NamespaceNotManaged", message)
            self.assertIn(f"kubectl label namespace {name} runwhere.ai/namespace=true", message)
        self.bed.api("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"runwhere.ai/namespace": "true"}}},
                     content_type="application/merge-patch+json", expect=(200,))
        status, body = self.daemon.rest("POST", f"/api/v1/jobs?namespace={name}", TRAINING.format(name="x"))
        self.assertEqual(status, 201, body)
        self.daemon.rest("DELETE", f"/api/v1/jobs/x?namespace={name}")

    def test_a_namespace_that_is_being_deleted_takes_no_jobs(self):
        name = unique("leaving")
        self.bed.api("POST", "/api/v1/namespaces", {"metadata": {
            "name": name, "labels": {"runwhere.ai/namespace": "true"}, "finalizers": ["example.com/hold"]}}, expect=(201,))
        self.addCleanup(self.bed.api, "PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"finalizers": None}},
                        content_type="application/merge-patch+json")
        self.bed.api("DELETE", f"/api/v1/namespaces/{name}", expect=(200, 202))
        _, code, message = self.refusal(name)
        self.assertEqual(code, "Conflict", message)
        self.assertIn("is being deleted", message)


class Migration(unittest.TestCase):
    """gpuctl migrate of workloads and pods of an earlier product."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_labels_of_workloads_and_pods_are_added_and_then_the_old_ones_removed(self):
        namespace = self.bed.create_namespace(unique("migrate"), managed=False)
        old = {"app": "chat", "g8s.host/job-type": "inference", "g8s.host/priority": "high"}
        container = {"name": "main", "image": "a"}
        self.bed.api("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", {
            "metadata": {"name": "chat", "labels": old},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "chat"}},
                     "template": {"metadata": {"labels": old}, "spec": {"containers": [container]}}}}, expect=(201,))
        self.bed.api("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": {"name": "lone", "labels": {"gpuctl/job-type": "compute", "gpuctl/pool": "p", "runwhere.ai/pool": "q"}},
            "spec": {"schedulerName": "nobody", "containers": [container]}}, expect=(201,))
        paths = (f"/apis/apps/v1/namespaces/{namespace}/deployments/chat", f"/api/v1/namespaces/{namespace}/pods/lone")

        def labels():
            return [self.bed.get(path)["metadata"]["labels"] for path in paths]

        before = labels()
        planned = self.daemon.gpuctl("migrate", "--dry-run").stdout
        self.assertIn(f"Deployment {namespace}/chat", planned)
        self.assertEqual(labels(), before)

        self.daemon.gpuctl("migrate")
        deployment, lone = labels()
        self.assertEqual(deployment["runwhere.ai/job-type"], "inference")
        self.assertEqual(deployment["g8s.host/job-type"], "inference")
        self.assertEqual((lone["runwhere.ai/job-type"], lone["runwhere.ai/pool"]), ("compute", "q"))
        versions = [self.bed.get(path)["metadata"]["resourceVersion"] for path in paths]
        self.daemon.gpuctl("migrate")
        self.assertEqual([self.bed.get(path)["metadata"]["resourceVersion"] for path in paths], versions, "a second run writes nothing")

        self.daemon.gpuctl("migrate", "--remove-old")
        deployment, lone = labels()
        self.assertNotIn("g8s.host/job-type", deployment)
        self.assertNotIn("gpuctl/job-type", lone)
        self.assertEqual(lone["gpuctl/pool"], "p", "it differs from the present one")


if __name__ == "__main__":
    unittest.main()
