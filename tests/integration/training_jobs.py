"""What tests of one pool do with training jobs: submit, look, wait, remove."""

from support import BOUND_S, PREFIX, RUNNING_S, bound, wait_for

GRACE_S = 30  # that pods are given to stop, and that the fake kubelets let them have
POOL = "training-pool"  # two nodes of 8 GPUs


class TrainingJobs:
    """For a TestCase with `bed`, `daemon` and `namespace`."""

    def submit(self, name, ranks, gpus, priority="medium", more=""):
        """A job of this number of ranks, or of a number between two, each with `gpus`. `more`: further keys of its `job:`."""
        low, high = ranks if isinstance(ranks, tuple) else (ranks, ranks)
        text = (f"kind: training\njob: {{name: {name}, namespace: {self.namespace}, priority: {priority}{more}}}\n"
                f"environment: {{image: example/x}}\nresources: {{pool: {POOL}, gpu: {gpus}, cpu: 1, memory: 1Gi}}\n"
                f"elastic: {{minReplicas: {low}, maxReplicas: {high}}}\n")
        self.daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=text)
        self.addCleanup(self.remove, name)

    def remove(self, name):
        self.daemon.rest("DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}")
        wait_for(lambda: not self.pods(name), GRACE_S + RUNNING_S, f"the pods of {name} are gone", every_s=0.2)

    def pods(self, name):
        return self.bed.pods(self.namespace, f"{PREFIX}/name={name}")

    def placed(self, name):
        """Node by pod, of the pods that have one."""
        return bound(self.bed, self.namespace, f"{PREFIX}/name={name}")

    def explanation(self, name):
        return str(self.daemon.get(f"/api/v1/jobs/{name}/explain?namespace={self.namespace}")["blockers"])

    def wait_placed(self, name, count, seconds=BOUND_S):
        wait_for(lambda: len(self.placed(name)) == count, seconds,
                 lambda: f"{count} pods of {name} bound; bound are {bound(self.bed, self.namespace)}; {self.explanation(name)}")

    def wait_running(self, name, count):
        self.wait_placed(name, count)
        wait_for(lambda: all(pod["status"].get("phase") == "Running" for pod in self.pods(name)), RUNNING_S, f"{name} runs")
