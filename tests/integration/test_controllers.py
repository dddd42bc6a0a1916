"""Jobs, Deployments and StatefulSets that a Kubernetes user makes with schedulerName gpuctl."""

import unittest

from support import (BOUND_S, PREFIX, Daemon, RUNNING_S, bound, create_pod, delete_namespace_pods, pod, shared_testbed, unique,
                     wait_for)


class MadeByControllers:
    """Creates an object with kubectl, and removes it."""
    CONFIGURATION = {}

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(cls.CONFIGURATION, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("controllers"))
        self.addCleanup(wait_for, lambda: not self.bed.pods(self.namespace), RUNNING_S, "all pods are gone", every_s=0.2)

    def create(self, path, body):
        self.bed.api("POST", f"/apis/{path.rsplit('/', 1)[0]}/namespaces/{self.namespace}/{path.rsplit('/', 1)[1]}", body,
                     as_role="alice", expect=(201,))
        self.addCleanup(self.remove, path, body["metadata"]["name"])

    def remove(self, path, name):
        self.bed.api("DELETE", f"/apis/{path.rsplit('/', 1)[0]}/namespaces/{self.namespace}/{path.rsplit('/', 1)[1]}/{name}",
                     {"propagationPolicy": "Background"}, content_type="application/json")

    def remove_pod(self, name):
        self.bed.kubectl("-n", self.namespace, "delete", "pod", name, "--wait=false")
        wait_for(lambda: not self.bed.pods(self.namespace), RUNNING_S, "it is gone", every_s=0.2)

    @staticmethod
    def template(labels=None, annotations=None, gpus=1, pool="training-pool"):
        body = pod("template", gpus=gpus, pool=pool, labels=labels, annotations=annotations)
        del body["metadata"]["name"]
        return body

    def row(self, name):
        status, body = self.daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={self.namespace}")
        return body if status == 200 else None


class SeveralOfOneName(MadeByControllers, unittest.TestCase):
    """A job is what made its pods, revision by revision (ADR 0025): limits hold whatever labels say."""
    CONFIGURATION = {"policy": {"pools": [{"name": "training-pool", "queues": [
        {"name": "default"}, {"name": "research", "maximum": 2}]}]}}

    def deploy(self, name, queue, replicas=2, more=None, **spec):
        labels = {"app": "shared", "part": name, f"{PREFIX}/queue": queue}
        body = {"metadata": {"name": name}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"part": name}}, **spec,
            "template": self.template(labels={**labels, **(more or {})})}}
        self.create("apps/v1/deployments", body)
        return body

    def held(self, queue):
        rows = self.daemon.items("/api/v1/queues?pool=training-pool")
        return next(row for row in rows if row["name"] == queue)["held"]

    def running(self, part):
        return len(bound(self.bed, self.namespace, f"part={part}"))

    def test_deployments_with_one_app_label_are_charged_to_their_own_queues(self):
        self.deploy("api", "research")
        self.deploy("worker", "default", replicas=1)
        wait_for(lambda: (self.running("api"), self.running("worker")) == (2, 1), BOUND_S, "api and worker are bound")
        self.deploy("late", "research")
        wait_for(lambda: self.row("late") and self.row("late")["reason"] == "queue_limit", BOUND_S,
                 lambda: f"late waits for its queue: {self.row('late')}")
        self.assertEqual((self.held("research"), self.held("default")), (2, 1))
        self.assertEqual(self.running("late"), 0)
        self.assertEqual(self.row("worker")["name"], "worker")

    def test_a_rollout_into_another_queue_leaves_the_old_pods_charged_where_they_run(self):
        body = self.deploy("one", "research", minReadySeconds=60)
        wait_for(lambda: self.running("one") == 2, BOUND_S, "one is bound")
        self.deploy("two", "research")
        body["spec"]["template"]["metadata"]["labels"][f"{PREFIX}/queue"] = "default"
        self.bed.api("PATCH", f"/apis/apps/v1/namespaces/{self.namespace}/deployments/one",
                     {"spec": {"template": body["spec"]["template"]}}, expect=(200,))
        wait_for(lambda: self.running("one") == 3, RUNNING_S, "a new pod runs next to the two old ones")
        self.assertEqual((self.held("research"), self.held("default")), (2, 1))
        self.assertEqual(self.running("two"), 0)
        self.assertEqual(self.row("one")["queue"], "default", "of two revisions the latest is meant")

    def test_a_submitted_job_and_pods_that_bear_its_name_as_their_app_are_two(self):
        self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=(
            "kind: training\njob: {name: shared}\nenvironment: {image: example/x}\n"
            "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n"))
        self.deploy("mine", "default")
        wait_for(lambda: self.running("mine") == 2, BOUND_S, "the Deployment's pods are bound")
        wait_for(lambda: self.row("shared")["status"] == "Running", RUNNING_S, "the submitted job runs")
        self.assertEqual(len(self.row("shared")["pods"]), 1)
        self.daemon.gpuctl("delete", "job", "shared", namespace=self.namespace)
        wait_for(lambda: self.row("shared") is None, RUNNING_S, lambda: f"it ends while the pods go on: {self.row('shared')}")
        self.assertEqual(self.running("mine"), 2)

    def test_a_submitted_job_and_a_gang_and_a_pod_of_its_name_are_three(self):
        # Regression: the gang's pods counted as ranks of the job, could not start, and its deletion
        # never ended.
        self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=(
            "kind: training\njob: {name: llm}\nenvironment: {image: example/x}\n"
            "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n"))
        rank = {"labels": {f"{PREFIX}/gang": "llm", "part": "gang"}, "annotations": {f"{PREFIX}/gang-min": "2"}}
        for body in (pod("llm", pool="training-pool"), pod("r-0", pool="training-pool", **rank),
                     pod("r-1", pool="training-pool", **rank)):
            create_pod(self.bed, self.namespace, body)
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)
        wait_for(lambda: self.running("gang") == 2, BOUND_S, "the gang starts")
        status, problem = self.daemon.rest("GET", f"/api/v1/jobs/llm?namespace={self.namespace}")
        self.assertEqual(status, 409)
        for whole, pods in (("gpuctl:llm", 1), ("gang:llm", 2), ("pod:llm", 1)):
            self.assertIn(f"{self.namespace}/{whole}", str(problem))
            wait_for(lambda whole=whole, pods=pods: (self.row(whole)["status"], len(self.row(whole)["pods"])) == ("Running", pods),
                     RUNNING_S, lambda whole=whole: f"{whole} runs: {self.row(whole)}")
        self.daemon.gpuctl("delete", "job", "gpuctl:llm", namespace=self.namespace)
        wait_for(lambda: self.row("gpuctl:llm") is None, RUNNING_S, lambda: f"it ends: {self.row('gpuctl:llm')}")
        self.assertEqual(self.running("gang"), 2)


class Controllers(MadeByControllers, unittest.TestCase):
    def test_a_job_runs_to_its_end(self):
        template = self.template(annotations={"testbed.gpuctl.dev/run-time": "1s"})
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1/jobs", {"metadata": {"name": "work"}, "spec": {
            "completions": 3, "parallelism": 3, "template": template}})

        def complete():
            status = self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/work")["status"]
            return status.get("succeeded") == 3

        wait_for(complete, RUNNING_S, "three completions", every_s=0.2)

    def test_an_indexed_job_with_a_gang_label_starts_whole(self):
        template = self.template(labels={f"{PREFIX}/gang": "ring"}, annotations={f"{PREFIX}/gang-min": "4"}, gpus=4)
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1/jobs", {"metadata": {"name": "ring"}, "spec": {
            "completions": 4, "parallelism": 4, "completionMode": "Indexed", "template": template}})
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 4, BOUND_S, lambda: f"{bound(self.bed, self.namespace)}")

    def test_a_gang_continues_without_the_pod_of_a_completed_rank(self):
        # Draining the node deletes the pod, and the Job, which counts the rank as complete, makes
        # no other.
        template = self.template(labels={f"{PREFIX}/gang": "pair"}, annotations={f"{PREFIX}/gang-min": "2"})
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1/jobs", {"metadata": {"name": "pair"}, "spec": {
            "completions": 2, "parallelism": 2, "completionMode": "Indexed", "template": template}})

        def rank(index):
            return next(iter(self.bed.pods(self.namespace, f"batch.kubernetes.io/job-completion-index={index}")), None)

        def phase(index):
            found = rank(index)
            return found and found["status"]["phase"]

        def remove(index):
            self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{rank(index)['metadata']['name']}", expect=(200,))

        wait_for(lambda: phase(0) == phase(1) == "Running", RUNNING_S, "both ranks run", every_s=0.2)
        self.bed.kubectl("-n", self.namespace, "annotate", "pod", rank(0)["metadata"]["name"],
                         "testbed.gpuctl.dev/run-time=1s")
        wait_for(lambda: phase(0) == "Succeeded", RUNNING_S, "rank 0 is done", every_s=0.2)
        wait_for(lambda: self.bed.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/pair")["status"].get("succeeded") == 1,
                 RUNNING_S, "the Job knows it", every_s=0.2)
        remove(0)
        wait_for(lambda: rank(0) is None, RUNNING_S, "its pod is gone", every_s=0.2)
        before = rank(1)["metadata"]["uid"]
        remove(1)
        wait_for(lambda: (found := rank(1)) and found["metadata"]["uid"] != before and found["status"]["phase"] == "Running",
                 RUNNING_S, lambda: f"rank 1 runs again: {self.daemon.gpuctl('explain', 'job', 'pair', namespace=self.namespace).stdout}",
                 every_s=0.2)

    def test_a_deployment_gets_all_its_replicas_and_new_ones(self):
        self.create("apps/v1/deployments", {"metadata": {"name": "serve"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "serve"}},
            "template": self.template(labels={"app": "serve"}, pool="inference-pool")}})
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "two replicas bound")
        victim = next(iter(bound(self.bed, self.namespace)))
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{victim}", expect=(200,))
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2 and victim not in bound(self.bed, self.namespace),
                 RUNNING_S, "a deleted replica is replaced and bound")

    def test_a_stateful_set_gets_its_pods_in_order(self):
        self.create("apps/v1/statefulsets", {"metadata": {"name": "lab"}, "spec": {
            "replicas": 2, "serviceName": "lab", "selector": {"matchLabels": {"app": "lab"}},
            "template": self.template(labels={"app": "lab"}, pool="dev-pool")}})
        wait_for(lambda: set(bound(self.bed, self.namespace)) == {"lab-0", "lab-1"}, RUNNING_S, "lab-0 and lab-1 bound")

    def submit(self, name, kind="training", extra=""):
        done = self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=(
            f"kind: {kind}\njob: {{name: {name}, namespace: {self.namespace}}}\nenvironment: {{image: example/x}}\n"
            f"resources: {{pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}}\n{extra}"))
        self.assertEqual(done.returncode, 0)
        wait_for(lambda: self.row(name) and self.row(name)["status"] == "Running", RUNNING_S, f"{name} runs", every_s=0.2)

    def explanation(self, name):
        return str(self.daemon.get(f"/api/v1/jobs/{name}/explain?namespace={self.namespace}")["blockers"])

    def test_a_submitted_job_deleted_with_kubectl_is_removed(self):
        self.submit("taken")
        self.bed.kubectl("-n", self.namespace, "delete", "job", "taken", "--wait=false")
        wait_for(lambda: self.row("taken") is None, RUNNING_S, lambda: f"no job any more: {self.row('taken')}", every_s=0.2)
        self.submit("taken")  # and its name is free
        self.daemon.gpuctl("delete", "job", "taken", namespace=self.namespace)

    def test_a_namespace_that_is_not_there_is_named_and_blocks_no_second_try(self):
        name = unique("late")
        text = (f"kind: training\njob: {{name: first, namespace: {name}}}\nenvironment: {{image: x}}\n"
                "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n")
        for tried in (("create", "--dry-run"), ("what-if",)):
            answer = self.daemon.gpuctl(*tried, "-f", "-", stdin=text, check=False)
            self.assertIn("NamespaceNotFound", answer.stderr, f"{tried} knows it before")
        refused = self.daemon.gpuctl("create", "-f", "-", stdin=text, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("NamespaceNotFound", refused.stderr)
        self.assertIn(name, refused.stderr)
        wait_for(lambda: self.daemon.rest("GET", f"/api/v1/jobs/first?namespace={name}")[0] == 404, RUNNING_S,
                 "no job is left behind")
        self.bed.create_namespace(name)
        self.daemon.gpuctl("create", "-f", "-", stdin=text)
        self.daemon.gpuctl("delete", "job", "first", namespace=name)

    def test_a_name_that_something_else_has_is_a_conflict(self):
        self.bed.api("POST", f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": "theirs"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
                                                     "template": self.template({"a": "b"})}}, as_role="alice", expect=(201,))
        self.bed.api("POST", f"/api/v1/namespaces/{self.namespace}/pods", pod("lone", gpus=1, pool="training-pool"),
                     as_role="alice", expect=(201,))
        self.addCleanup(self.remove_pod, "lone")
        wait_for(lambda: self.row("lone"), RUNNING_S, "the pod is a job of its own", every_s=0.2)
        for name in ("theirs", "lone"):
            text = (f"kind: training\njob: {{name: {name}, namespace: {self.namespace}}}\nenvironment: {{image: x}}\n"
                    "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n")
            refused = self.daemon.gpuctl("create", "-f", "-", stdin=text, check=False)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertIn("JobExists", refused.stderr)

    def test_a_service_that_a_user_made_is_neither_taken_over_nor_deleted(self):
        services = f"/api/v1/namespaces/{self.namespace}/services"
        self.bed.api("POST", services, {"metadata": {"name": "svc-web"}, "spec": {
            "type": "NodePort", "ports": [{"port": 9999, "name": "other"}]}}, expect=(201,))
        before = self.bed.get(f"{services}/svc-web")
        text = (f"kind: inference\njob: {{name: web, namespace: {self.namespace}}}\nenvironment: {{image: x}}\n"
                "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\nservice: {replicas: 1, port: 8000}\n")
        for tried in (("create", "--dry-run"), ("create",)):
            refused = self.daemon.gpuctl(*tried, "-f", "-", stdin=text, check=False)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertIn(f"Service {self.namespace}/svc-web exists already", refused.stderr)
        after = self.bed.get(f"{services}/svc-web")
        self.assertEqual(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"])
        self.assertEqual(self.bed.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments")["items"], [])

    def test_a_create_that_a_quota_forbids_leaves_no_job_and_no_warning_in_its_past(self):
        self.bed.api("POST", f"/api/v1/namespaces/{self.namespace}/resourcequotas",
                     {"metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}}, expect=(201,))
        text = (f"kind: training\njob: {{name: over, namespace: {self.namespace}}}\nenvironment: {{image: x}}\n"
                "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n")
        path = f"/api/v1/jobs/over?namespace={self.namespace}"

        def refused():
            answer = self.daemon.gpuctl("create", "-f", "-", stdin=text, check=False)
            if answer.returncode == 0:  # the API server's admission plugin had not seen the quota yet
                self.daemon.gpuctl("delete", "job", "over", namespace=self.namespace)
                wait_for(lambda: self.daemon.rest("GET", path)[0] == 404, RUNNING_S, "it is gone")
            return answer if answer.returncode else None
        answer = wait_for(refused, RUNNING_S, "the quota refuses it", every_s=0.5)
        self.assertEqual(answer.returncode, 5, answer.stderr)
        wait_for(lambda: self.daemon.rest("GET", path)[0] == 404, RUNNING_S, "no job is left behind")

    def test_a_job_whose_pods_a_quota_refuses_shows_its_controllers_reason(self):
        self.bed.api("POST", f"/api/v1/namespaces/{self.namespace}/resourcequotas",
                     {"metadata": {"name": "tight"}, "spec": {"hard": {"pods": "1"}}}, expect=(201,))
        quota = f"/api/v1/namespaces/{self.namespace}/resourcequotas/tight"
        wait_for(lambda: self.bed.get(quota).get("status", {}).get("hard"), RUNNING_S, "the quota is counted")
        shape = "environment: {image: x}\nresources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi"
        for kind, name, more, reason in (("training", "ring", ", nodeCount: 2}\n", "its controller cannot create the missing pods: "),
                                       ("training", "over", "}\n", "its controller cannot create pods: "),
                                       ("notebook", "lab", "}\n", "its controller cannot create pods: ")):
            self.daemon.gpuctl("create", "-f", "-", stdin=(
                f"kind: {kind}\njob: {{name: {name}, namespace: {self.namespace}}}\n{shape}{more}"))
            wait_for(lambda name=name, reason=reason: reason in self.explanation(name), RUNNING_S,
                     lambda name=name: self.explanation(name), every_s=0.5)
            self.assertIn("exceeded quota: tight", self.explanation(name))
            self.assertIn("FailedCreate", self.daemon.gpuctl("describe", "job", name, namespace=self.namespace).stdout)
        for name in ("ring", "over", "lab"):
            self.daemon.gpuctl("delete", "job", name, namespace=self.namespace)

    def test_the_past_of_a_deleted_job_has_no_warning_and_ends_with_it(self):
        self.submit("again")
        self.daemon.gpuctl("delete", "job", "again", namespace=self.namespace)
        wait_for(lambda: self.row("again") is None, RUNNING_S, "it is gone", every_s=0.2)
        self.submit("again")
        events = self.daemon.get(f"/api/v1/jobs/again?namespace={self.namespace}")["events"]
        self.assertEqual([event for event in events if event["reason"] in ("WorkloadRemoved", "Deleting")], [])
        self.daemon.gpuctl("delete", "job", "again", namespace=self.namespace)

    def test_a_submitted_job_that_is_suspended_or_scaled_to_nothing_says_so(self):
        self.submit("paused")
        self.bed.kubectl("-n", self.namespace, "patch", "job", "paused", "-p", '{"spec":{"suspend":true}}')
        wait_for(lambda: self.row("paused")["status"] == "Suspended", RUNNING_S, lambda: str(self.row("paused")), every_s=0.2)
        self.assertIn("suspended", self.explanation("paused"))
        self.submit("served", "inference", "service: {replicas: 1, port: 8000}\n")
        self.bed.kubectl("-n", self.namespace, "scale", "deployment", "served", "--replicas=0")
        wait_for(lambda: "scaled to 0" in self.explanation("served"), RUNNING_S, "its explanation", every_s=0.2)
        for name in ("paused", "served"):
            self.daemon.gpuctl("delete", "job", name, namespace=self.namespace)

    def test_a_job_that_waits_explains_itself_by_rest(self):
        template = self.template(gpus=9)
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1/jobs", {"metadata": {"name": "toobig"}, "spec": {"template": template}})

        def waiting():
            row = next((row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}")), None)
            return row if row and row["reason"] else None

        row = wait_for(waiting, BOUND_S, "a reason")
        explanation = self.daemon.get(f"/api/v1/jobs/{row['jobId']}/explain?namespace={self.namespace}")
        self.assertIn("9", str(explanation))


if __name__ == "__main__":
    unittest.main()
