"""What the acceptance tests share: a small laboratory on the embedded cluster, the fixtures, and the command line with
the exit code that is expected. The names of the tests begin with the ids of docs/acceptance.md."""

import json

from support import REPOSITORY, RUNNING_S, Daemon, wait_for

FIXTURES = REPOSITORY / "tests" / "fixtures" / "acceptance"
# Exit codes of gpuctl.
OK, FAILED, USAGE, NOT_FOUND, CONFLICT, FORBIDDEN, UNMET, PARTIAL = 0, 1, 2, 3, 4, 5, 6, 8
# node-0 to node-3 with 8 GPUs each, cpu-0, and infer-0 in a pool of its own.
LABORATORY = {"cluster": {"mode": "embedded", "embedded": {"nodes": [
    {"name": "node", "count": 4, "gpuModel": "A100-80G", "gpus": 8, "cpuCores": 64, "memoryGib": 512},
    {"name": "cpu", "count": 1, "cpuCores": 32, "memoryGib": 64},
    {"name": "infer", "count": 1, "pool": "inference-pool", "gpuModel": "A10-24G", "gpus": 4, "cpuCores": 64, "memoryGib": 256},
]}}}


def fixture(name):
    return str(FIXTURES / name)


def fixtures(kind="*"):
    """All fixtures of a kind, as names below the folder."""
    return sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.glob(f"{kind}/*.yaml"))


def training(name, gpus=0, namespace=None, more="", **variables):
    """The text of a small training job."""
    scope = f", namespace: {namespace}" if namespace else ""
    env = ", ".join(f"{key}: {value}" for key, value in variables.items())
    return (f"kind: training\njob: {{name: {name}{scope}{more}}}\nenvironment: {{image: example/x, env: {{{env}}}}}\n"
            f"resources: {{gpu: {gpus}, cpu: 1, memory: 1Gi}}\n")


def service(name, kind="compute", replicas=1, image="example/x:1", namespace=None, gpus=0):
    """The text of a small service."""
    scope = f", namespace: {namespace}" if namespace else ""
    count = "" if kind == "notebook" else f"replicas: {replicas}, "
    return (f"kind: {kind}\njob: {{name: {name}{scope}}}\nenvironment: {{image: '{image}'}}\n"
            f"service: {{{count}port: 8000}}\nresources: {{gpu: {gpus}, cpu: 1, memory: 1Gi}}\n")


class Commands:
    """Mixed into a TestCase with `daemon`."""

    def cli(self, *words, code=OK, **options):
        """Runs gpuctl, whose exit code must be `code`."""
        done = self.daemon.gpuctl(*words, check=False, **options)
        self.assertEqual(done.returncode, code, f"gpuctl {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done

    def refused(self, *words, code=FAILED, **options):
        """What it prints on stderr."""
        return self.cli(*words, code=code, **options).stderr

    def document(self, *words, code=OK, **options):
        """The one JSON document that it prints with --json."""
        return json.loads(self.cli(*words, "--json", code=code, **options).stdout)

    def create(self, *names):
        """Makes these fixtures."""
        return self.cli("create", *[word for name in names for word in ("-f", fixture(name))]).stdout

    def create_text(self, text, **options):
        return self.cli("create", "-f", "-", stdin=text, **options).stdout

    def rows(self, *flags):
        return self.document("get", "jobs", *flags)

    def names(self, *flags):
        return sorted(row["name"] for row in self.rows(*flags))

    def status(self, name, namespace="default"):
        return self.daemon.job(name, namespace).get("status")

    def wait_status(self, name, status="Running", namespace="default"):
        wait_for(lambda: self.status(name, namespace) == status, RUNNING_S,
                 lambda: f"{namespace}/{name} {status}; it is {self.daemon.job(name, namespace)}", every_s=0.05)

    def wait_gone(self, name, namespace="default"):
        wait_for(lambda: self.daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={namespace}")[0] == 404, RUNNING_S,
                 f"{namespace}/{name} is gone", every_s=0.05)

    def rest(self, method, path, body=None, status=200):
        """The body of an answer below /api/v1, whose status must be `status`. A dict is sent as JSON."""
        kind = "application/json" if isinstance(body, dict) else "application/yaml"
        got, answer = self.daemon.rest(method, f"/api/v1{path}", json.dumps(body) if isinstance(body, dict) else body,
                                       content_type=kind)
        self.assertEqual(got, status, f"{method} {path}: {answer}")
        return answer


class Laboratory(Commands):
    """A gpuctld on the embedded cluster for the class; each test begins with an empty one."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(LABORATORY).start()
        cls.addClassCleanup(cls.daemon.stop)

    def tearDown(self):
        for job in {(row["namespace"], row["name"]) for row in self.daemon.items("/api/v1/jobs?pageSize=100")}:
            self.daemon.rest("DELETE", f"/api/v1/jobs/{job[1]}?namespace={job[0]}&force=true")
        wait_for(lambda: not self.daemon.items("/api/v1/jobs?pageSize=100"), RUNNING_S, "no jobs are left", every_s=0.05)
        for kind, key in (("quotas", "namespace"), ("namespaces", "name"), ("pools", "name")):
            for row in self.daemon.items(f"/api/v1/{kind}"):
                if row.get("source") == "api":
                    self.daemon.rest("DELETE", f"/api/v1/{kind}/{row[key]}?force=true")
