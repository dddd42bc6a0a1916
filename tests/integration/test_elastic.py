"""Elastic jobs on a real API server: an Indexed Job grown and shrunk by its own controller (G6, G12)."""

import unittest

from support import BOUND_S, PREFIX, RUNNING_S, Daemon, bound, shared_testbed, unique, wait_for

GRACE_S = 30  # that pods are given to stop, and that the fake kubelets let them have
POOL = "training-pool"  # two nodes of 8 GPUs
INDEX = "batch.kubernetes.io/job-completion-index"


class Elastic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(changes={"policy": {"growthPause": "2s"}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("elastic"))

    def submit(self, name, ranks, gpus, priority="medium"):
        low, high = ranks
        text = (f"kind: training\njob: {{name: {name}, namespace: {self.namespace}, priority: {priority}}}\n"
                f"environment: {{image: example/x}}\nresources: {{pool: {POOL}, gpu: {gpus}, cpu: 1, memory: 1Gi}}\n"
                f"elastic: {{minReplicas: {low}, maxReplicas: {high}}}\n")
        self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=text)
        self.addCleanup(self.remove, name)

    def remove(self, name):
        self.daemon.rest("DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}")
        wait_for(lambda: not self.pods(name), GRACE_S + RUNNING_S, f"the pods of {name} are gone", every_s=0.2)

    def pods(self, name):
        return self.bed.pods(self.namespace, f"{PREFIX}/name={name}")

    def ranks(self, name):
        """uid by rank, of the pods that are bound and stay."""
        return {int(pod["metadata"]["annotations"][INDEX]): pod["metadata"]["uid"] for pod in self.pods(name)
                if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]}

    def size(self, name):
        spec = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}")["spec"]
        self.assertEqual(spec["completions"], spec["parallelism"], "both change together")
        return spec["completions"]

    def explanation(self, name):
        return str(self.daemon.get(f"/api/v1/jobs/{name}/explain?namespace={self.namespace}"))

    def wait_ranks(self, name, count, seconds=BOUND_S):
        wait_for(lambda: sorted(self.ranks(name)) == list(range(count)) and self.size(name) == count, seconds,
                 lambda: f"{name} has {count} ranks; it has {sorted(self.ranks(name))} of {self.size(name)}, bound are "
                         f"{bound(self.bed, self.namespace)}; {self.explanation(name)}")

    def test_an_indexed_job_is_grown_and_shrunk_between_its_bounds(self):
        self.submit("fill", (2, 2), gpus=4)
        self.wait_ranks("fill", 2)
        # The largest size that fits beside it; the ranks that found no room are taken back.
        self.submit("llm", (2, 6), gpus=2)
        self.wait_ranks("llm", 4)
        wait_for(lambda: len(self.pods("llm")) == 4, RUNNING_S, "its other pods are gone")
        first = self.ranks("llm")
        variables = {one["name"]: one.get("value") for one in self.pods("llm")[0]["spec"]["containers"][0]["env"]}
        self.assertEqual(variables["NNODES"], "2:6")
        self.assertNotIn("WORLD_SIZE", variables)

        self.remove("fill")
        self.wait_ranks("llm", 6, GRACE_S + BOUND_S)
        grown = self.ranks("llm")
        self.assertEqual({rank: grown[rank] for rank in first}, first, "those that ran go on")

        # 4 GPUs are free, 8 are needed: the two highest ranks go, and no others.
        self.submit("wide", (2, 2), gpus=4)
        self.wait_ranks("wide", 2, GRACE_S + BOUND_S)
        self.wait_ranks("llm", 4)
        self.assertEqual(self.ranks("llm"), first, "the highest ranks go, the others stay")
        status = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/llm")["status"]
        self.assertFalse(status.get("failed") or status.get("conditions"), status)

        # It could give 4 of 8: nobody shrinks in vain.
        self.submit("whole", (1, 1), gpus=8)
        wait_for(lambda: "gpu_insufficient" in self.explanation("whole"), BOUND_S, lambda: self.explanation("whole"))
        self.assertEqual(self.size("llm"), 4)
        self.remove("whole")

        self.submit("last", (1, 1), gpus=4)
        self.wait_ranks("last", 1, GRACE_S + BOUND_S)
        self.wait_ranks("llm", 2)
        # Never below its minimum.
        self.submit("late", (1, 1), gpus=2)
        wait_for(lambda: "gpu_insufficient" in self.explanation("late"), BOUND_S, lambda: self.explanation("late"))
        self.assertEqual(self.size("llm"), 2)
        self.assertEqual(self.ranks("llm"), {rank: first[rank] for rank in (0, 1)})

    def test_a_size_that_a_user_sets_is_brought_back_into_the_range(self):
        self.submit("own", (1, 3), gpus=2)
        self.wait_ranks("own", 3)
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs/own"
        self.bed.api("PATCH", path, {"spec": {"completions": 5, "parallelism": 5}}, expect=(200,))
        wait_for(lambda: self.size("own") == 3, BOUND_S, lambda: f"it has 3 ranks again; it has {self.size('own')}")
        self.wait_ranks("own", 3)


if __name__ == "__main__":
    unittest.main()
