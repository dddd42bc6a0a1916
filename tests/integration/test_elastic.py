"""Elastic jobs on a real API server: an Indexed Job grown and shrunk by its own controller."""

import unittest

from support import BOUND_S, RUNNING_S, Daemon, bound, shared_testbed, unique, wait_for
from training_jobs import GRACE_S, TrainingJobs

INDEX = "batch.kubernetes.io/job-completion-index"


class Elastic(TrainingJobs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(changes={"expert": {"scheduling": {"growthPause": "2s"}}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("elastic"))

    def ranks(self, name):
        """uid by rank, of the pods that are bound and stay."""
        return {int(pod["metadata"]["annotations"][INDEX]): pod["metadata"]["uid"] for pod in self.pods(name)
                if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]}

    def size(self, name):
        spec = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}")["spec"]
        self.assertEqual(spec["completions"], spec["parallelism"], "both change together")
        return spec["completions"]

    def wait_ranks(self, name, count, seconds=BOUND_S):
        wait_for(lambda: sorted(self.ranks(name)) == list(range(count)) and self.size(name) == count, seconds,
                 lambda: f"{name} has {count} ranks; it has {sorted(self.ranks(name))} of {self.size(name)}, bound are "
                         f"{bound(self.bed, self.namespace)}; {self.explanation(name)}")

    def test_an_indexed_job_is_grown_and_shrunk_between_its_bounds(self):
        self.submit("fill", 2, gpus=4)
        self.wait_ranks("fill", 2)
        # The largest size that fits next to it; ranks without room are released.
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

        # 4 GPUs are free, 8 are needed: the two highest ranks end, and no others.
        self.submit("wide", 2, gpus=4)
        self.wait_ranks("wide", 2, GRACE_S + BOUND_S)
        self.wait_ranks("llm", 4)
        self.assertEqual(self.ranks("llm"), first, "the highest ranks end, the other ranks stay")
        status = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/llm")["status"]
        self.assertFalse(status.get("failed") or status.get("conditions"), status)

        # It could free 4 of 8, which is not enough: no job shrinks.
        self.submit("whole", 1, gpus=8)
        wait_for(lambda: "gpu_insufficient" in self.explanation("whole"), BOUND_S, lambda: self.explanation("whole"))
        self.assertEqual(self.size("llm"), 4)
        self.remove("whole")

        self.submit("last", 1, gpus=4)
        self.wait_ranks("last", 1, GRACE_S + BOUND_S)
        self.wait_ranks("llm", 2)
        # Never below its minimum.
        self.submit("late", 1, gpus=2)
        wait_for(lambda: "gpu_insufficient" in self.explanation("late"), BOUND_S, lambda: self.explanation("late"))
        self.assertEqual(self.size("llm"), 2)
        self.assertEqual(self.ranks("llm"), {rank: first[rank] for rank in (0, 1)})

    def test_a_size_that_a_user_sets_is_corrected_to_the_range(self):
        self.submit("own", (1, 3), gpus=2)
        self.wait_ranks("own", 3)
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs/own"
        self.bed.api("PATCH", path, {"spec": {"completions": 5, "parallelism": 5}}, expect=(200,))
        wait_for(lambda: self.size("own") == 3, BOUND_S, lambda: f"it has 3 ranks again; it has {self.size('own')}")
        self.wait_ranks("own", 3)


if __name__ == "__main__":
    unittest.main()
