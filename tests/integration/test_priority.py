"""Deployments of different PriorityClasses on a real API server: which pods go for higher priority, what a disruption budget
keeps, how often each replica may go, and what keeps a queue from GPUs that it is guaranteed."""

import unittest

from support import BOUND_S, PREFIX, RUNNING_S, Daemon, bound, events_about, shared_testbed, unique, wait_for
from test_controllers import MadeByControllers

LEFT_ALONE_S = 60  # expert.scheduling.backoffMaximum
GRACE_S = 5
CLASSES = {"lab-low": 10, "lab-mid": 1000, "lab-high": 10000}
POOL = "priority-lab"


class Deployments(MadeByControllers):
    """Deployments in a pool of this number of nodes of its own."""
    NODES = 2
    NODE = {"gpus": 8}

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        for name, value in [*CLASSES.items(), ("lab-never", 10000)]:
            cls.bed.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
                "metadata": {"name": name}, "value": value,
                "preemptionPolicy": "Never" if name == "lab-never" else "PreemptLowerPriority"}, expect=(201, 409))
        names = [cls.bed.create_node(unique("priority"), pool=POOL, **cls.NODE) for _ in range(cls.NODES)]
        for name in names:
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}", expect=(200,))
        cls.bed.wait_nodes_ready(names)
        super().setUpClass()

    def deploy(self, name, priority, replicas=1, gpus=8, cpu="1", labels=None, annotations=None):
        template = self.template(labels={"app": name, **(labels or {})}, annotations=annotations, gpus=gpus, pool=POOL)
        template["spec"]["priorityClassName"] = priority
        resources = template["spec"]["containers"][0]["resources"]
        for amounts in resources.values():
            amounts["cpu"] = cpu
        self.create("apps/v1/deployments", {"metadata": {"name": name}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}})

    def uids(self, name):
        return {pod["metadata"]["uid"] for pod in self.bed.pods(self.namespace, f"app={name}")}

    def running(self, name):
        return [pod for pod in self.bed.pods(self.namespace, f"app={name}") if pod["status"].get("phase") == "Running"]

    def wait_running(self, name, count, seconds=RUNNING_S):
        wait_for(lambda: len(self.running(name)) == count, seconds,
                 lambda: f"{count} pods of {name} run; bound are {bound(self.bed, self.namespace)}; {self.explanation(name)}")

    def explanation(self, name):
        status, body = self.daemon.rest("GET", f"/api/v1/jobs/{name}/explain?namespace={self.namespace}")
        return str(body.get("blockers")) if status == 200 else str(body)

    def evictions(self, code):
        return [event for event in self.bed.audit_events("system:serviceaccount:gpuctl-system:gpuctld")
                if (event.get("objectRef") or {}).get("subresource") == "eviction"
                and event["objectRef"]["namespace"] == self.namespace and event["responseStatus"]["code"] == code]

    def preempted(self):
        """As the metrics count it."""
        line = next((line for line in self.daemon.rest("GET", "/metrics")[1].splitlines()
                     if line.startswith('gpuctld_evictions_total{cause="preempted"}')), "x 0")
        return float(line.rsplit(" ", 1)[1])


class HigherPriority(Deployments, unittest.TestCase):
    def test_a_pod_of_lower_priority_with_unset_preemptibility_is_preempted_as_by_kube_scheduler(self):
        self.deploy("mid", "lab-mid", replicas=2)
        self.wait_running("mid", 2)
        before = self.uids("mid")
        self.deploy("prod", "lab-high")
        self.wait_running("prod", 1)
        stopped = before - self.uids("mid")
        self.assertEqual(len(stopped), 1, "one is enough")
        self.assertEqual(len(self.running("mid")), 1)
        answer = [event for event in self.bed.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
                if event.get("reason") == "Preempted" and event["involvedObject"].get("uid") in stopped]
        self.assertIn("preempted by higher-priority job", answer[0].get("message") or answer[0].get("note") or "")
        wait_for(lambda: "it was preempted by higher-priority job" in self.explanation("mid"), BOUND_S, lambda: self.explanation("mid"))

    def test_a_pod_that_says_no_is_not_preempted_nor_is_equal_priority(self):
        self.deploy("firm", "lab-mid", annotations={f"{PREFIX}/preemptible": "false"})
        self.deploy("equal", "lab-high")
        self.wait_running("firm", 1)
        self.wait_running("equal", 1)
        before = self.uids("firm") | self.uids("equal")
        self.deploy("prod", "lab-high")
        wait_for(lambda: "are not preemptible (preemptible: false, the default of gpuctl jobs" in self.explanation("prod"), BOUND_S,
                 lambda: self.explanation("prod"))
        self.assertEqual(before, self.uids("firm") | self.uids("equal"))
        self.assertEqual(self.evictions(201), [])

    def test_a_class_that_never_preempts_waits(self):
        self.deploy("mid", "lab-mid", replicas=2)
        self.wait_running("mid", 2)
        before = self.uids("mid")
        self.deploy("patient", "lab-never")
        wait_for(lambda: "it does not preempt (preemptionPolicy: Never)" in self.explanation("patient"), BOUND_S, lambda: self.explanation("patient"))
        self.assertEqual(before, self.uids("mid"))

    def test_a_gang_with_unset_preemptibility_is_preempted_as_a_whole(self):
        template = self.template(labels={"app": "ranks", f"{PREFIX}/gang": "ranks"}, gpus=8, pool=POOL,
                                 annotations={f"{PREFIX}/gang-min": "2"})
        template["spec"].update(priorityClassName="lab-mid", restartPolicy="Never")
        self.create("batch/v1/jobs", {"metadata": {"name": "ranks"}, "spec": {
            "parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template}})
        self.wait_running("ranks", 2)
        before = self.uids("ranks")
        self.deploy("prod", "lab-high")
        self.wait_running("prod", 1)
        wait_for(lambda: not before & self.uids("ranks"), RUNNING_S, "both ranks are gone")
        self.assertEqual(self.running("ranks"), [])

    def test_a_job_submitted_to_gpuctl_is_preempted_only_if_it_says_so(self):
        for name, more in (("own", ""), ("willing", ", preemptible: true")):
            text = (f"kind: training\njob: {{name: {name}, namespace: {self.namespace}, priority: medium{more}}}\n"
                    f"environment: {{image: example/x}}\nresources: {{pool: {POOL}, gpu: 8, cpu: 1, memory: 1Gi}}\n")
            self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=text)
            self.addCleanup(self.daemon.rest, "DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}")
        placed = lambda name: bound(self.bed, self.namespace, f"{PREFIX}/name={name}")  # noqa: E731
        wait_for(lambda: placed("own") and placed("willing"), BOUND_S, lambda: bound(self.bed, self.namespace))
        self.bed.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "metadata": {"name": "lab-highest"}, "value": 900_000_000}, expect=(201, 409))
        own = placed("own")
        self.deploy("prod", "lab-highest", replicas=2)
        self.wait_running("prod", 1, GRACE_S + 30 + RUNNING_S)
        # Its pod has failed by then, and is listed until its Job has counted it.
        wait_for(lambda: not placed("willing"), RUNNING_S, lambda: bound(self.bed, self.namespace))
        self.assertEqual(placed("own"), own)


class RefusedEvictions(Deployments, unittest.TestCase):
    def test_an_eviction_that_a_disruption_budget_refused_is_not_charged(self):
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        self.bed.api("POST", path, {"metadata": {"name": "low"}, "spec": {
            "minAvailable": 2, "selector": {"matchLabels": {"app": "low"}}}}, expect=(201,))
        self.deploy("low", "lab-low", replicas=2)
        self.wait_running("low", 2)
        wait_for(lambda: self.bed.get(f"{path}/low").get("status", {}).get("currentHealthy") == 2, RUNNING_S,
                 "the budget counts them")
        before, count = self.uids("low"), self.preempted()
        self.deploy("prod", "lab-high")
        wait_for(lambda: len(self.evictions(429)) >= 4, BOUND_S, lambda: f"both are asked twice: {len(self.evictions(429))}")
        self.assertEqual(self.uids("low"), before)
        self.assertEqual(self.preempted(), count, "none went")
        self.bed.api("DELETE", f"{path}/low", expect=(200,))
        self.wait_running("prod", 1, LEFT_ALONE_S + GRACE_S + RUNNING_S)
        self.assertEqual(len(before & self.uids("low")), 1)
        self.assertEqual(self.preempted(), count + 1)
        self.assertTrue(events_about(self.bed, self.namespace, self.running("prod")[0]["metadata"]["name"]))


class ManyReplicas(Deployments, unittest.TestCase):
    NODES = 6

    def test_more_than_two_of_48_replicas_are_evicted_within_an_hour(self):
        self.deploy("web", "lab-low", replicas=48, gpus=1)
        self.wait_running("web", 48, 2 * RUNNING_S)
        for index in range(5):
            self.deploy(f"prod-{index}", "lab-high", gpus=1)
            self.wait_running(f"prod-{index}", 1)
        self.assertEqual(len(self.running("web")), 43)
        self.assertEqual(len(self.evictions(201)), 5)


class UsersAreAsked(Deployments, unittest.TestCase):
    CONFIGURATION = {"policy": {"pools": [{"name": POOL, "preemption": {"victims": "preemptible"}}]}}

    def test_a_pool_that_requires_consent_preempts_only_pods_that_say_yes(self):
        self.deploy("mid", "lab-mid")
        self.deploy("willing", "lab-mid", annotations={f"{PREFIX}/preemptible": "true"})
        self.wait_running("mid", 1)
        self.wait_running("willing", 1)
        before = self.uids("mid")
        self.deploy("prod", "lab-high")
        self.wait_running("prod", 1)
        self.deploy("more", "lab-high")
        wait_for(lambda: "which their pool requires (preemption.victims)" in self.explanation("more"), BOUND_S,
                 lambda: self.explanation("more"))
        self.assertEqual(self.uids("mid"), before)


class Guarantee(Deployments, unittest.TestCase):
    NODES = 1
    NODE = {"gpus": 2, "cpu": "4"}
    CONFIGURATION = {"policy": {"pools": [{"name": POOL, "queues": [
        {"name": "owner", "guaranteed": 1}, {"name": "guest"}]}]}}

    def test_cpu_that_keeps_a_queue_from_its_guaranteed_gpu_is_reclaimed(self):
        self.deploy("firm", "lab-mid", gpus=0, cpu="4", labels={f"{PREFIX}/queue": "guest"})
        self.wait_running("firm", 1)
        self.deploy("own", "lab-mid", gpus=1, cpu="2", labels={f"{PREFIX}/queue": "owner"})
        wait_for(lambda: "4 CPU on nodes with free GPUs are held by pods without GPUs that are not" in self.explanation("own"),
                 BOUND_S, lambda: self.explanation("own"))
        self.remove("apps/v1/deployments", "firm")
        self.wait_running("own", 1)
        self.remove("apps/v1/deployments", "own")
        wait_for(lambda: not self.bed.pods(self.namespace), RUNNING_S, "all pods are gone", every_s=0.2)

        self.deploy("cpu", "lab-mid", gpus=0, cpu="4", labels={f"{PREFIX}/queue": "guest"},
                    annotations={f"{PREFIX}/preemptible": "true"})
        self.wait_running("cpu", 1)
        self.deploy("late", "lab-mid", gpus=1, cpu="2", labels={f"{PREFIX}/queue": "owner"})
        self.wait_running("late", 1)
        wait_for(lambda: "had too little CPU for job" in self.explanation("cpu"), BOUND_S, lambda: self.explanation("cpu"))


if __name__ == "__main__":
    unittest.main()
