"""Gangs of controllers that make groups of pods: which pods are one gang, how large it is, and why it waits."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, bound, condition, create_pod, delete_namespace_pods, pod, shared_testbed, unique,
                     wait_for)

CONFIGURATION = {"policy": {"pools": [{"name": "training-pool", "queues": [
    {"name": "research"}, {"name": "lab", "queues": [{"name": "vision"}]}]}]}}
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2"
VOLCANO = "scheduling.volcano.sh"


class MadeGangs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(CONFIGURATION, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("made"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create(self, *bodies):
        for body in bodies:
            create_pod(self.bed, self.namespace, body)

    def wait_bound(self, names):
        wait_for(lambda: set(bound(self.bed, self.namespace)) == set(names), BOUND_S,
                 lambda: f"{sorted(names)} bound; bound are {bound(self.bed, self.namespace)}")

    def waiting_message(self, name):
        found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
        return f"{found['reason']}: {found['message']}" if found and found["status"] == "False" else ""

    def wait_for_message(self, name, text):
        wait_for(lambda: text in self.waiting_message(name), 2 * BOUND_S, lambda: f"{text!r} in the message of {name}: {self.waiting_message(name)}", every_s=0.2)

    @staticmethod
    def of_leader_worker_set(group, index, size=3, gpus=4):
        name = f"vllm-{group}" if index == 0 else f"vllm-{group}-{index}"
        return pod(name, gpus=gpus, pool="training-pool",
                   labels={"leaderworkerset.sigs.k8s.io/name": "vllm", "leaderworkerset.sigs.k8s.io/group-index": str(group),
                           "leaderworkerset.sigs.k8s.io/worker-index": str(index), f"{PREFIX}/gang": "vllm"},
                   annotations={"leaderworkerset.sigs.k8s.io/size": str(size)})

    def test_groups_of_a_LeaderWorkerSet_with_one_label_are_gangs_of_their_own(self):
        for group in (0, 1):  # 12 GPUs each, the pool has 16
            self.create(*[self.of_leader_worker_set(group, index) for index in range(2)])
        self.wait_for_message("vllm-0", "its gang has 2 of 3 ranks")
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(self.of_leader_worker_set(1, 2))
        self.wait_bound({"vllm-1", "vllm-1-1", "vllm-1-2"})
        self.create(self.of_leader_worker_set(0, 2))
        self.wait_for_message("vllm-0", "room for 1 of 3 ranks")
        self.assertEqual(set(bound(self.bed, self.namespace)), {"vllm-1", "vllm-1-1", "vllm-1-2"})

    def test_a_leader_that_its_workers_wait_for_gets_a_reason(self):
        self.create(self.of_leader_worker_set(0, 0))
        self.wait_for_message("vllm-0", "its gang has 1 of 3 ranks; its pods come from LeaderWorkerSet vllm, which creates "
                                 "a leader first and, if its startupPolicy is LeaderReady, its workers when the leader is ready")

    def job_set(self, name, replicas, parallelism=2, **spec):
        template = {"metadata": {"labels": {f"{PREFIX}/gang": name}}, "spec": {}}
        jobs = [{"name": f"job-{index}", "replicas": count, "template": {"spec": {
            "parallelism": parallelism, "completions": parallelism, "template": template}}} for index, count in enumerate(replicas)]
        self.bed.api("POST", f"{JOB_SETS}/namespaces/{self.namespace}/jobsets", {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"replicatedJobs": jobs, **spec}}, expect=(201,))

    @staticmethod
    def of_job_set(name, job, replica, index):
        return pod(f"{name}-{job}-{replica}-{index}", gpus=2, pool="training-pool",
                   labels={"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": job,
                           "jobset.sigs.k8s.io/restart-attempt": "0", f"{PREFIX}/gang": name},
                   annotations={"batch.kubernetes.io/job-completion-index": str(index)})

    def test_a_JobSet_gives_the_size_of_its_gang(self):
        self.job_set("train", [1, 2])  # 2 + 4 pods
        ranks = [self.of_job_set("train", job, replica, index) for job, replicas in (("job-0", 1), ("job-1", 2))
                 for replica in range(replicas) for index in range(2)]
        self.create(*ranks[:5])
        self.wait_for_message("train-job-0-0-0", "its gang has 5 of 6 ranks")
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(ranks[5])
        self.wait_bound({rank["metadata"]["name"] for rank in ranks})

    def test_a_JobSet_that_starts_in_order_is_named_as_what_its_gang_waits_for(self):
        self.job_set("turns", [1, 1], startupPolicy={"startupPolicyOrder": "InOrder"})
        self.create(*[self.of_job_set("turns", "job-0", 0, index) for index in range(2)])
        self.wait_for_message("turns-job-0-0-0", "its gang has 2 of 4 ranks; its pods come from JobSet turns, whose startupPolicy "
                                          "is InOrder; no pod of the gang starts before all of them exist")
        self.assertNotIn("nodes", self.waiting_message("turns-job-0-0-0"))
        said = self.daemon.gpuctl("describe", "job", "turns", namespace=self.namespace).stdout
        self.assertIn("JobSet turns, whose startupPolicy is InOrder", said)

    def test_a_StatefulSet_that_makes_its_pods_in_turn_is_named(self):
        self.bed.api("POST", f"/apis/apps/v1/namespaces/{self.namespace}/statefulsets", {
            "metadata": {"name": "ring"}, "spec": {"replicas": 3, "serviceName": "ring",
                "selector": {"matchLabels": {"app": "ring"}},
                "template": {"metadata": {"labels": {"app": "ring", f"{PREFIX}/gang": "ring"},
                                          "annotations": {f"{PREFIX}/gang-min": "3"}}, "spec": {
                    "schedulerName": "gpuctl", "terminationGracePeriodSeconds": 0, "nodeSelector": {f"{PREFIX}/pool": "training-pool"},
                    "containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]}}}}, expect=(201,))
        self.addCleanup(self.bed.kubectl, "-n", self.namespace, "delete", "statefulset", "ring", "--wait=false", check=False)
        wait_for(lambda: self.bed.pods(self.namespace), BOUND_S, "its first pod")
        self.wait_for_message("ring-0", "its gang has 1 of 3 ranks; its pods come from StatefulSet ring, which creates "
                                 "one pod after another unless its podManagementPolicy is Parallel")
        said = self.daemon.gpuctl("describe", "job", "ring", namespace=self.namespace).stdout
        self.assertIn("StatefulSet ring, which creates one pod after another", said)
        self.assertNotIn("more node", said)

    def volcano_group(self, name, queue):
        self.bed.api("POST", f"/apis/{VOLCANO}/v1beta1/namespaces/{self.namespace}/podgroups", {
            "apiVersion": f"{VOLCANO}/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": 2, "queue": queue}}, expect=(201,))

    def of_volcano_group(self, group, index, gpus=2, **labels):
        return pod(f"{group}-{index}", gpus=gpus, pool="training-pool", labels=labels,
                   annotations={"scheduling.k8s.io/group-name": group})

    def row(self, name):
        return next((row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}") if row["name"] == name), {})

    def test_the_queue_of_a_Volcano_PodGroup_is_used_if_it_exists(self):
        self.volcano_group("mine", "research")
        self.create(*[self.of_volcano_group("mine", index) for index in range(2)])
        self.wait_bound({"mine-0", "mine-1"})
        wait_for(lambda: self.row("mine").get("queue") == "research", BOUND_S, lambda: f"in queue research: {self.row('mine')}")

    def test_the_queue_label_of_the_pods_wins_over_the_PodGroup(self):
        self.volcano_group("both", "research")
        self.create(*[self.of_volcano_group("both", index, **{f"{PREFIX}/queue": "vision"}) for index in range(2)])
        wait_for(lambda: self.row("both").get("queue") == "vision", BOUND_S, lambda: f"in queue vision: {self.row('both')}")

    def test_a_queue_that_does_not_exist_is_ignored_with_a_message(self):
        for name, queue, why in (("theirs", "gold", "has no such queue"), ("upper", "lab", "takes no jobs in it, as it has sub-queues")):
            self.volcano_group(name, queue)
            self.create(*[self.of_volcano_group(name, index, gpus=99) for index in range(2)])
            self.wait_for_message(f"{name}-0", f"queue {queue} is ignored (its PodGroup or its pods name it for another "
                                        f"scheduler): pool training-pool {why}")


if __name__ == "__main__":
    unittest.main()
