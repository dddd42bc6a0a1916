"""Changes of jobs on a real API server: apply, scale, pause, resume, and what is refused."""

import unittest

from support import BOUND_S, RUNNING_S, Daemon, shared_testbed, unique, wait_for
from training_jobs import GRACE_S, POOL, TrainingJobs


class Changes(TrainingJobs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("changes"))

    def service(self, name, replicas, image="example/x:1"):
        return (f"kind: inference\njob: {{name: {name}, namespace: {self.namespace}}}\nenvironment: {{image: '{image}'}}\n"
                f"service: {{replicas: {replicas}, port: 8000}}\nresources: {{pool: {POOL}, gpu: 1, cpu: 1, memory: 1Gi}}\n")

    def apply(self, text, *flags, check=True):
        return self.daemon.gpuctl("apply", "-f", "-", *flags, namespace=self.namespace, stdin=text, check=check)

    def deployment(self, name):
        return self.bed.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}")

    def node_port(self, name):
        return self.bed.get(f"/api/v1/namespaces/{self.namespace}/services/svc-{name}")["spec"]["ports"][0]["nodePort"]

    def test_a_deployment_is_changed_in_place_and_its_service_keeps_its_port(self):
        self.assertIn("created", self.apply(self.service("chat", 1)).stdout)
        self.addCleanup(self.remove, "chat")
        self.wait_running("chat", 1)
        before, port = self.deployment("chat"), self.node_port("chat")

        self.assertIn("unchanged", self.apply(self.service("chat", 1)).stdout)
        self.assertEqual(self.deployment("chat")["metadata"]["generation"], before["metadata"]["generation"])
        wrong = self.apply(self.service("chat", 1).replace("port: 8000", "port: 99999"), check=False)
        self.assertNotEqual(wrong.returncode, 0)
        too_large = self.apply(self.service("chat", 1).replace("gpu: 1", "gpu: 64"), check=False)
        self.assertIn("NeverFits", too_large.stderr)
        self.assertEqual(self.deployment("chat")["metadata"]["generation"], before["metadata"]["generation"])

        self.assertIn("updated", self.apply(self.service("chat", 2)).stdout)
        self.wait_running("chat", 2)
        self.assertIn("updated (environment.image)", self.apply(self.service("chat", 2, "example/x:2")).stdout)
        after = self.deployment("chat")
        self.assertEqual(after["metadata"]["uid"], before["metadata"]["uid"])
        self.assertEqual(after["spec"]["template"]["spec"]["containers"][0]["image"], "example/x:2")
        self.assertEqual(self.node_port("chat"), port)
        reasons = [event["reason"] for event in self.daemon.job("chat", self.namespace)["events"]]
        self.assertIn("Submitted", reasons, "the history of the job goes on")
        self.assertIn("Updated", reasons)

        self.daemon.gpuctl("scale", "chat", "--replicas", "3", namespace=self.namespace)
        self.assertEqual(self.deployment("chat")["spec"]["replicas"], 3)

        self.daemon.gpuctl("pause", "chat", namespace=self.namespace)
        self.assertEqual(self.deployment("chat")["spec"]["replicas"], 0)
        wait_for(lambda: not self.pods("chat"), GRACE_S + RUNNING_S, "its pods are gone")
        self.daemon.gpuctl("resume", "chat", namespace=self.namespace)
        self.assertEqual(self.deployment("chat")["spec"]["replicas"], 3)
        self.wait_running("chat", 3)

    def test_a_job_is_suspended_and_resumes_on_the_nodes_that_it_kept(self):
        self.submit("llm", 2, gpus=8)
        self.wait_running("llm", 2)
        nodes = sorted(self.placed("llm").values())
        self.daemon.gpuctl("pause", "llm", namespace=self.namespace)
        self.assertTrue(self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/llm")["spec"]["suspend"])
        wait_for(lambda: not self.pods("llm"), GRACE_S + RUNNING_S, "its pods are gone")

        self.submit("other", 1, gpus=8)
        wait_for(lambda: "gpu_insufficient" in self.explanation("other"), BOUND_S, lambda: self.explanation("other"))
        self.daemon.gpuctl("resume", "llm", namespace=self.namespace)
        self.wait_running("llm", 2)
        self.assertEqual(sorted(self.placed("llm").values()), nodes)
        self.assertFalse(self.placed("other"))

        self.daemon.gpuctl("pause", "llm", "--release", namespace=self.namespace)
        self.wait_placed("other", 1, GRACE_S + BOUND_S)

    def test_what_cannot_change_in_place_is_refused_or_made_again(self):
        def text(gpus):
            return (f"kind: training\njob: {{name: llm, namespace: {self.namespace}}}\nenvironment: {{image: example/x}}\n"
                    f"resources: {{pool: {POOL}, gpu: {gpus}, cpu: 1, memory: 1Gi}}\n")

        self.apply(text(1))
        self.addCleanup(self.remove, "llm")
        self.wait_running("llm", 1)
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs/llm"
        uid = self.bed.get(path)["metadata"]["uid"]
        refused = self.apply(text(2), check=False)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("resources.gpu", refused.stderr)
        self.assertEqual(self.bed.get(path)["metadata"]["uid"], uid)

        self.assertIn("created again", self.apply(text(2), "--recreate").stdout)
        self.assertNotEqual(self.bed.get(path)["metadata"]["uid"], uid)
        wait_for(lambda: [pod for pod in self.pods("llm") if "deletionTimestamp" not in pod["metadata"]
                          and pod["spec"].get("nodeName")], GRACE_S + BOUND_S, "the new pod is bound")


if __name__ == "__main__":
    unittest.main()
