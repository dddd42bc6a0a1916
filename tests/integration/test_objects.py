"""The objects that a submitted job becomes on a real API server, besides its workload and Service: volumes that outlive
the job, DeepSpeed files, and what operators add to pods."""

import json
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


if __name__ == "__main__":
    unittest.main()
