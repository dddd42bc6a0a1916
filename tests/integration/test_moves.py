"""GPUs enough in sum, and in the wrong places: explain names the job to move and how, the printed commands are run as
they are written, and the waiting job runs next to the moved one. On the embedded cluster, and with a Kubernetes user's
own Jobs on the real API server."""

import json
import shlex
import unittest

from support import PREFIX, RUNNING_S, Daemon, pod, shared_testbed, unique, wait_for

NODES = {"cluster": {"embedded": {"nodes": [
    {"name": "n", "count": 2, "pool": "default", "gpuModel": "A100", "gpus": 4, "cpuCores": 32, "memoryGib": 128}]}}}
JOB = """kind: training
job: {name: %s, namespace: team-a, priority: low}
environment: {image: example/train, command: [sleep, 1h]}
resources: {pool: default, gpu: %d, cpu: 1, memory: 1Gi}
"""


class Moves(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(NODES).start()
        self.addCleanup(self.daemon.stop)

    def create(self, name, gpus):
        file = self.daemon.folder / f"{name}.yaml"
        file.write_text(JOB % (name, gpus))
        self.daemon.gpuctl("create", "-f", str(file))

    def job(self, name):
        return self.daemon.job(name, "team-a")

    def node_of(self, name):
        return {pod["node"] for pod in self.job(name)["pods"]}

    def runs(self, *names):
        wait_for(lambda: all(self.job(name)["status"] == "Running" for name in names), RUNNING_S, f"{names} run")

    def fragment(self):
        """Two jobs of two GPUs on each of two nodes; then one of each ends."""
        for name in ("a", "b", "c", "d"):
            self.create(name, 2)
            self.runs(name)
        homes = {name: self.node_of(name) for name in ("a", "b", "c", "d")}
        self.assertEqual((homes["a"], homes["c"]), (homes["b"], homes["d"]), "two share a node")
        self.daemon.gpuctl("delete", "job", "b", "d", namespace="team-a")
        wait_for(lambda: len(self.daemon.items("/api/v1/jobs?namespace=team-a")) == 2, RUNNING_S, "b and d are gone")

    def test_explain_names_the_move_and_the_printed_commands_let_the_job_start(self):
        self.fragment()
        self.create("wide", 4)
        answer = self.daemon.gpuctl("explain", "job", "wide", namespace="team-a").stdout
        self.assertIn("gpu_fragmented", answer)
        self.assertRegex(answer, r"it would start now if 1 job moved: team-a/[ac] \(2 GPUs\) from n-\d to n-\d; "
                               r"\d+ GPU-minutes? of work would be repeated; gpuctl moves no job by itself\n"
                               r" +1\. gpuctl delete job [ac] -n team-a\n"
                               r" +2\. wait until team-a/wide runs\n"
                               r" +3\. gpuctl create -n team-a -f FILE \(the file of job [ac]\)\n")
        move = next(one for one in json.loads(
            self.daemon.gpuctl("explain", "job", "wide", "--json", namespace="team-a").stdout)["remedies"]
            if one["change"] == "jobs_move")
        [moved] = move["moves"]
        [pod] = moved["pods"]
        self.assertEqual({pod["from"]}, self.node_of(moved["jobId"]))
        self.assertNotEqual(pod["from"], pod["to"])
        self.assertEqual(self.job("wide")["status"], "Pending", "nothing moves by itself")

        stop, wait, start = move["steps"]
        self.daemon.gpuctl(*shlex.split(stop)[1:])
        self.assertIn("team-a/wide runs", wait)
        self.runs("wide")
        self.assertEqual(self.node_of("wide"), {pod["from"]})
        file = self.daemon.folder / f"{moved['jobId']}.yaml"
        self.daemon.gpuctl(*shlex.split(start.replace(f"FILE (the file of job {moved['jobId']})", str(file)))[1:])
        self.runs("a", "c", "wide")
        self.assertEqual(self.node_of(moved["jobId"]), {pod["to"]})

    def test_what_if_proposes_the_move_before_the_job_is_submitted(self):
        self.fragment()
        answer = self.daemon.gpuctl("what-if", "-f", "-", stdin=JOB % ("wide", 4), check=False)
        self.assertEqual(answer.returncode, 9, answer.stderr)
        self.assertIn("it would start now if 1 job moved: team-a/", answer.stdout)
        self.assertIn("1. gpuctl create -n team-a -f FILE (the file of job wide)\n", answer.stdout)

    def test_what_is_not_preemptible_is_not_proposed_for_a_move(self):
        for name in ("a", "b", "c", "d"):
            file = self.daemon.folder / f"{name}.yaml"
            file.write_text((JOB % (name, 2)).replace("priority: low", "priority: low, preemptible: false"))
            self.daemon.gpuctl("create", "-f", str(file))
            self.runs(name)
        self.daemon.gpuctl("delete", "job", "b", "d", namespace="team-a")
        wait_for(lambda: len(self.daemon.items("/api/v1/jobs?namespace=team-a")) == 2, RUNNING_S, "b and d are gone")
        self.create("wide", 4)
        answer = self.daemon.gpuctl("explain", "job", "wide", namespace="team-a").stdout
        self.assertIn("gpu_fragmented", answer)
        self.assertNotIn("moved", answer)


class MovesOfJobsMadeElsewhere(unittest.TestCase):
    def setUp(self):
        self.bed = shared_testbed()
        self.daemon = Daemon(bed=self.bed).start()
        self.addCleanup(self.daemon.stop)
        self.namespace = self.bed.create_namespace(unique("moves"))
        self.jobs = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        self.addCleanup(self.remove, "a", "b", "c", "d", "wide")

    def create(self, name, gpus):
        template = pod("template", gpus=gpus, pool="training-pool", annotations={f"{PREFIX}/preemptible": "true"})
        del template["metadata"]["name"]
        template["spec"]["restartPolicy"] = "Never"
        self.bed.api("POST", self.jobs, {"metadata": {"name": name}, "spec": {"template": template}}, as_role="alice",
                     expect=(201,))

    def remove(self, *names):
        for name in names:
            self.bed.api("DELETE", f"{self.jobs}/{name}", {"propagationPolicy": "Background"}, content_type="application/json",
                         expect=(200, 404))
        wait_for(lambda: not any(self.pods(name) for name in names), RUNNING_S, f"{names} are gone", every_s=0.2)

    def pods(self, name):
        return self.bed.pods(self.namespace, f"batch.kubernetes.io/job-name={name}")

    def home(self, name):
        """The node on which its pod runs."""
        return next((one["spec"]["nodeName"] for one in self.pods(name) if one["status"].get("phase") == "Running"), None)

    def runs(self, *names):
        wait_for(lambda: all(self.home(name) for name in names), RUNNING_S, f"{names} run", every_s=0.2)

    def carry_out(self, step):
        command = shlex.split(step.split("for a Kubernetes Job: ")[1])
        self.assertEqual(command[0], "kubectl")
        self.bed.kubectl(*command[1:])

    def test_a_kubernetes_job_is_suspended_and_restarts_on_another_node(self):
        for name in ("a", "b", "c", "d"):  # two on each of two nodes
            self.create(name, 4)
            self.runs(name)
        self.assertEqual((self.home("a"), self.home("c")), (self.home("b"), self.home("d")))
        self.remove("b", "d")
        self.create("wide", 8)
        explain = f"/api/v1/jobs/wide/remedies?namespace={self.namespace}"

        def find_move():
            status, body = self.daemon.rest("GET", explain)
            return status == 200 and next((one for one in body["remedies"] if one["change"] == "jobs_move"), None)

        move = wait_for(find_move, RUNNING_S, lambda: f"a move is named: {self.daemon.rest('GET', explain)}", every_s=0.2)
        [moved] = move["moves"]
        name, [went] = moved["jobId"], moved["pods"]
        self.assertEqual(went["from"], self.home(name))
        stop, _, start = move["steps"]
        self.carry_out(stop)
        self.runs("wide")
        self.assertEqual(self.home("wide"), went["from"])
        self.carry_out(start)
        self.runs("a", "c", "wide")
        self.assertEqual(self.home(name), went["to"])


if __name__ == "__main__":
    unittest.main()
