"""A lost journal costs history and order, never a job: another gpuctld knows what the first one made."""

import json
import shutil
import unittest

from support import EXAMPLES, RUNNING_S, SHORT_LEASE, Daemon, shared_testbed, unique, wait_for

FILES = {"training": "training.yaml", "notebook": "notebook.yaml", "inference": "inference.yaml"}


class LostJournal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.namespace = cls.bed.create_namespace(unique("lost"))
        cls.bed.create_pull_secret(cls.namespace)
        text = (EXAMPLES / "gpuctld-kubernetes.yaml").read_text().replace(
            "\n  kubernetes:\n", f"\n  kubernetes:\n    kubeconfig: {{kubeconfig}}\n    lease: {json.dumps(SHORT_LEASE)}\n"
            "    bindTimeout: 1s\n")
        cls.daemon = Daemon(bed=cls.bed, text=text + "\nserver: {port: {port}}\njournal: {directory: {journal}}\n").start()
        cls.addClassCleanup(cls.daemon.stop)

    def rows(self):
        return {row["name"]: row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}&view=job&pageSize=100")}

    def test_its_jobs_are_still_jobs_with_kind_and_text_and_can_be_deleted(self):
        for file in FILES.values():
            self.daemon.gpuctl("create", "-f", str(EXAMPLES / file), namespace=self.namespace)
        wait_for(lambda: sorted(row["status"] for row in self.rows().values()) == ["Running"] * 3, RUNNING_S,
                 lambda: f"all run; they are {self.rows()}", every_s=0.2)
        before = {name: row["kind"] for name, row in self.rows().items()}
        texts = {name: self.daemon.job(name, self.namespace)["yamlContent"] for name in before}
        self.daemon.process.kill()
        shutil.rmtree(self.daemon.folder / "journal")
        self.daemon.start()
        wait_for(lambda: {name: row["kind"] for name, row in self.rows().items()} == before, RUNNING_S,
                 lambda: f"known as before, {before}; they are {self.rows()}", every_s=0.2)
        for name, text in texts.items():
            self.assertEqual(self.daemon.job(name, self.namespace)["yamlContent"], text)
        again = self.daemon.gpuctl("create", "-f", str(EXAMPLES / "training.yaml"), namespace=self.namespace, check=False)
        self.assertEqual(again.returncode, 4, again.stderr)
        for name in before:
            self.daemon.gpuctl("delete", "job", name, "--force", namespace=self.namespace)
        wait_for(lambda: not self.rows(), RUNNING_S, lambda: f"gone; there are {self.rows()}", every_s=0.2)
        for path in ("/apis/batch/v1/namespaces/{}/jobs", "/apis/apps/v1/namespaces/{}/deployments",
                     "/apis/apps/v1/namespaces/{}/statefulsets"):
            self.assertEqual(self.bed.get(path.format(self.namespace))["items"], [])


if __name__ == "__main__":
    unittest.main()
