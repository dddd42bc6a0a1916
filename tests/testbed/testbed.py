"""A real Kubernetes API server with etcd, controllers and fake kubelets, for tests and for trying out.

    bed = Testbed()
    bed.start()
    status, pod = bed.api("GET", "/api/v1/namespaces/default/pods/a", as_role="alice")
    bed.stop()

Roles are users of the API server with a token each: `admin` (system:masters), `gpuctld` (exactly the
service account of config/rbac.yaml, with exactly its rights), `alice` (an ordinary user of pods and workloads), `nobody`.
"""

import base64
import http.client
import json
import os
import pathlib
import secrets
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import binaries
from processes import Process, free_port, make_certificates, wait_for

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
READY_DEADLINE_S = 60
SERVICE_ACCOUNT = "system:serviceaccount:gpuctl-system:gpuctld"
LOG_NAMESPACES = [f"logs-{letter}" for letter in "abcd"]  # each has a log file of its own
MIB = 1 << 20

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [
        # Which pod was bound where, by uid: the one place where the body matters.
        {"level": "Request", "resources": [{"group": "", "resources": ["pods/binding"]}], "verbs": ["create"]},
        {"level": "Metadata", "users": [SERVICE_ACCOUNT]},
        {"level": "None"},
    ],
}

# (pool, nodes, GPU model or None, GPUs each); what config/examples asks for fits in it.
DEFAULT_NODES = [
    ("default", 1, None, 0),
    ("training-pool", 2, "A100-100G", 8),
    ("inference-pool", 1, "A100-100G", 4),
    ("dev-pool", 1, "a10-24g", 4),
    ("test-pool", 1, None, 0),
    ("experiment-pool", 1, "T4", 4),
]


class ApiError(AssertionError):
    """An answer of the API server that the caller did not expect."""


def read_audit_log(file, user=None, since=0):
    """Entries of an audit log from that byte on, parsed; those of one user only when given."""
    if not file.exists():
        return []
    with open(file, "rb") as log:
        log.seek(since)
        lines = log.read().split(b"\n")
    events = [json.loads(line) for line in lines[:-1] if line]
    return [event for event in events if user is None or event["user"].get("username") == user]


class Testbed:
    """One cluster. Threads may share it; start and stop belong to one thread."""

    def __init__(self, folder=None, kwok=True, controllers=True, throughput=False, audit=True, rbac=True,
                 fsync=False, detached=False, kinds=True):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="gpuctl-testbed-"))
        self._temporary = folder is None
        self.with_kwok, self.with_controllers = kwok, controllers
        self.throughput, self.audit, self.fsync, self.detached = throughput, audit, fsync, detached
        self.with_rbac, self.with_kinds = rbac, kinds
        self.processes = {}
        self.port = free_port()
        self._etcd_port, self._etcd_peer_port, self._kwok_port = free_port(), free_port(), free_port()
        self.echo_port = free_port()  # where a test may listen for port 80 of the pods
        self.server = f"https://127.0.0.1:{self.port}"
        self._local = threading.local()
        self.tokens = {}

    # --- start and stop ---

    def start(self):
        self.binaries = binaries.build()
        for part in ("pki", "log", "etcd", "pod-logs", "kubeconfig"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        make_certificates(self.folder / "pki")
        self._write_tokens()
        (self.folder / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))
        try:
            self.start_etcd()
            self.start_apiserver()
            self._prepare_cluster()
            if self.with_controllers:
                self.start_controllers()
            if self.with_kwok:
                self.start_kwok()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None
        for name in ("kwok", "kube-controller-manager", "kube-apiserver", "etcd"):
            process = self.processes.pop(name, None)
            if process is not None:
                process.stop(5)
        if self._temporary and not os.environ.get("GPUCTL_KEEP_TESTBED"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def _run(self, name, command):
        process = Process(name, command, self.folder / "log" / f"{name}.log", detached=self.detached)
        self.processes[name] = process
        return process

    def _ready(self, name, is_ready):
        process = self.processes[name]

        def check():
            if not process.alive:
                raise ApiError(f"{name} ended with {process.exit_code}:\n{process.log()[-3000:]}")
            return is_ready()

        wait_for(check, READY_DEADLINE_S, lambda: f"{name} ready; its log ends\n{process.log()[-3000:]}")

    def start_etcd(self):
        client = f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{self._etcd_peer_port}"
        self._run("etcd", [
            self.binaries / "kube", "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--log-level", "warn",
            *([] if self.fsync else ["--unsafe-no-fsync"])])

        def healthy():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=2)
                connection.request("GET", "/health")
                return b'"true"' in connection.getresponse().read()
            except OSError:
                return False
            finally:
                connection.close()

        self._ready("etcd", healthy)

    def start_apiserver(self):
        pki = self.folder / "pki"
        disabled = "ServiceAccount" + (",TaintNodesByCondition" if self.throughput else "")
        self._run("kube-apiserver", [
            self.binaries / "kube", "kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--tls-cert-file={pki}/server.crt", f"--tls-private-key-file={pki}/server.key",
            f"--client-ca-file={pki}/ca.crt", f"--token-auth-file={self.folder}/tokens.csv",
            f"--service-account-key-file={pki}/service-account.pub",
            f"--service-account-signing-key-file={pki}/service-account.key",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC", f"--disable-admission-plugins={disabled}", "--allow-privileged=true",
            "--endpoint-reconciler-type=none", "--v=0",
            # Kubernetes' own PodGroup, still alpha in 1.36; off in throughput runs, as shipped.
            *([] if self.throughput else ["--runtime-config=scheduling.k8s.io/v1alpha2=true",
                                          "--feature-gates=GenericWorkload=true"]),
            *(["--max-requests-inflight=0", "--max-mutating-requests-inflight=0",
               "--enable-priority-and-fairness=false"] if self.throughput else []),
            *([f"--audit-policy-file={self.folder}/audit-policy.json",
               f"--audit-log-path={self.folder}/log/audit.log", "--audit-log-maxsize=2000"] if self.audit else [])])
        self._ready("kube-apiserver", self.is_ready)

    def stop_apiserver(self):
        """Ends it at once, as a crash would; start_apiserver() brings it back on the same port."""
        self.processes.pop("kube-apiserver").kill()

    def start_controllers(self):
        left_out = ("cloud-node-lifecycle-controller", "service-lb-controller", "node-route-controller",
                    "node-ipam-controller", "bootstrap-signer-controller", "token-cleaner-controller")
        self._run("kube-controller-manager", [
            self.binaries / "kube", "kube-controller-manager", f"--kubeconfig={self.kubeconfig('admin')}",
            "--controllers=*," + ",".join("-" + name for name in left_out),
            "--use-service-account-credentials=false", "--leader-elect=false", "--secure-port=0",
            "--node-monitor-grace-period=24h",  # the fake kubelets renew no leases
            f"--service-account-private-key-file={self.folder}/pki/service-account.key",
            f"--root-ca-file={self.folder}/pki/ca.crt", "--concurrent-deployment-syncs=2", "--v=0"])

    def start_kwok(self):
        configuration = (HERE / "stages.yaml").read_text() + "".join(
            f"---\n{json.dumps(document)}\n" for document in self._log_documents() + self._session_documents())
        (self.folder / "kwok.yaml").write_text(configuration)
        self.start_kwok_again()

    def _kwok_command(self):
        pki = self.folder / "pki"
        return [
            self.binaries / "kube", "kwok", f"--kubeconfig={self.kubeconfig('admin')}", f"--config={self.folder}/kwok.yaml",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-ip=127.0.0.1",
            f"--node-port={self._kwok_port}", f"--server-address=127.0.0.1:{self._kwok_port}",
            f"--tls-cert-file={pki}/server.crt", f"--tls-private-key-file={pki}/server.key",
            # With leases KWOK drops every pod it hears of before its own watch has reported that it holds the node's
            # lease (PodController.readOnly, v0.8.0), and does not look at that pod again.
            "--node-lease-duration-seconds=0", "--v=WARN"]

    def start_kwok_again(self):
        """After its process was ended; on the same port, with the same log files."""
        self._run("kwok", self._kwok_command())

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self._kwok_port)) == 0

        self._ready("kwok", listens)

    def _log_documents(self):
        def document(name, selector, file):
            return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": name},
                    "spec": {**({"selector": selector} if selector else {}),
                             "logs": [{"logsFile": str(file), "follow": True}]}}

        documents = []
        for namespace in LOG_NAMESPACES:
            file = self.log_file(namespace)
            file.touch()
            documents.append(document(namespace, {"matchNamespaces": [namespace]}, file))
        everyone = self.log_file(None)
        everyone.write_text("".join(
            f"2026-01-01T00:00:{second:02d}.000000000Z stdout F line {second}\n" for second in range(20)))
        documents.append(document("everyone-else", None, everyone))
        return documents

    def _session_documents(self):
        """Commands run on this machine, in a folder of their own; port 80 of every pod is `echo_port` here; attach
        shows what is added to a file."""
        self.attached_log.touch()
        (self.folder / "pod-files").mkdir(exist_ok=True)

        def document(kind, spec):
            return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "every-pod"}, "spec": spec}

        return [document("ClusterExec", {"execs": [{"local": {"workDir": str(self.folder / "pod-files")}}]}),
                document("ClusterAttach", {"attaches": [{"logsFile": str(self.attached_log)}]}),
                document("ClusterPortForward", {"forwards": [
                    {"ports": [80], "target": {"port": self.echo_port, "address": "127.0.0.1"}}]})]

    @property
    def attached_log(self):
        """The file whose new lines `attach` shows (CRI form)."""
        return self.folder / "pod-logs" / "attached.log"

    def log_file(self, namespace):
        """The file that the fake kubelet gives as the log of every pod in that namespace (CRI form)."""
        return self.folder / "pod-logs" / f"{namespace or 'everyone-else'}.log"

    def _write_tokens(self):
        users = {"admin": ("admin", "system:masters"), "alice": ("alice", "users"), "nobody": ("nobody", "users"),
                 "gpuctld": (SERVICE_ACCOUNT, "system:serviceaccounts,system:serviceaccounts:gpuctl-system")}
        lines = []
        for role, (user, groups) in users.items():
            self.tokens[role] = secrets.token_hex(16)
            lines.append(f'{self.tokens[role]},{user},uid-{role},"{groups}"\n')
        file = self.folder / "tokens.csv"
        file.touch(mode=0o600)
        file.write_text("".join(lines))

    def _prepare_cluster(self):
        """What config/rbac.yaml needs or grants, and an ordinary user's rights."""
        wait_for(lambda: self.api("GET", "/api/v1/namespaces/default")[0] == 200, READY_DEADLINE_S,
                 "namespace default exists")
        if self.with_rbac:
            self.create_namespace("gpuctl-system")
        rbac_api = "/apis/rbac.authorization.k8s.io/v1"
        # Not the built-in `edit`: that is put together by a controller, and there may be none here.
        self.api("POST", f"{rbac_api}/clusterroles", {"metadata": {"name": "testbed-user"}, "rules": [
            {"apiGroups": ["", "apps", "batch", "scheduling.x-k8s.io"], "verbs": ["*"], "resources": [
                "pods", "pods/log", "pods/exec", "services", "configmaps", "secrets", "persistentvolumeclaims",
                "deployments", "statefulsets", "jobs", "podgroups"]},
            {"apiGroups": ["", "events.k8s.io"], "verbs": ["get", "list", "watch"], "resources": ["events"]}]}, expect=(201, 409))
        self.api("POST", f"{rbac_api}/clusterrolebindings", {
            "metadata": {"name": "testbed-alice"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "testbed-user"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]}, expect=(201, 409))
        rbac = REPOSITORY / "config" / "rbac.yaml"
        if self.with_rbac and rbac.exists():
            self.kubectl("apply", "-f", str(rbac))
        if self.with_rbac and self.with_kinds:
            self.apply_kinds()

    def apply_kinds(self):
        """config/crds.yaml, until the API server serves what it defines."""
        self.kubectl("apply", "-f", str(REPOSITORY / "config" / "crds.yaml"))
        for resource in ("computepools", "queues"):
            wait_for(lambda resource=resource: self.api("GET", f"/apis/runwhere.ai/v1/{resource}")[0] == 200, READY_DEADLINE_S,
                     f"{resource} are served")

    # --- use ---

    def is_ready(self):
        try:
            return self.api("GET", "/readyz", raw=True)[0] == 200
        except OSError:
            return False

    def _connection(self):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            context = ssl.create_default_context(cafile=self.folder / "pki" / "ca.crt")
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
            self._local.connection = connection
        return connection

    def api(self, method, path, body=None, as_role="admin", content_type=None, raw=False, expect=None):
        """(status, decoded body). `expect`: statuses that are no error; anything else raises ApiError."""
        headers = {"Authorization": f"Bearer {self.tokens[as_role]}", "Accept": "application/json"}
        data = None
        if body is not None:
            data = body if isinstance(body, (bytes, str)) else json.dumps(body)
            headers["Content-Type"] = content_type or (
                "application/merge-patch+json" if method == "PATCH" else "application/json")
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                self._local.connection = None
                # A kept connection may have been closed meanwhile; a fresh one that fails is real.
                if attempt == 2 or isinstance(problem, ConnectionRefusedError):
                    if isinstance(problem, OSError):
                        raise
                    raise OSError(str(problem)) from problem
        result = text.decode(errors="replace")
        if not raw:
            try:
                result = json.loads(result)
            except ValueError:
                pass
        if expect is not None and answer.status not in expect:
            raise ApiError(f"{method} {path} as {as_role}: {answer.status} {str(result)[:600]}")
        return answer.status, result

    def get(self, path, **options):
        return self.api("GET", path, expect=(200,), **options)[1]

    def kubeconfig(self, role):
        """A kubeconfig file for that role; contains its token."""
        file = self.folder / "kubeconfig" / f"{role}.json"
        if not file.exists():
            authority = base64.b64encode((self.folder / "pki" / "ca.crt").read_bytes()).decode()
            file.touch(mode=0o600)
            file.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "testbed",
                "clusters": [{"name": "testbed", "cluster": {
                    "server": self.server, "certificate-authority-data": authority}}],
                "users": [{"name": role, "user": {"token": self.tokens[role]}}],
                "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": role}}]}, indent=1))
        return file

    def kubectl(self, *arguments, role="admin", check=True, stdin=None):
        done = subprocess.run([self.binaries / "kube", "kubectl", *arguments], capture_output=True, text=True,
                              env={**os.environ, "KUBECONFIG": str(self.kubeconfig(role))}, input=stdin, check=False)
        if check and done.returncode != 0:
            raise ApiError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def wait_allowed(self, expected, verb, resource, role="gpuctld", deadline_s=READY_DEADLINE_S):
        """Until the authorizer says `expected`: it learns of a changed role by a watch, shortly after the write was answered."""
        resource, _, subresource = resource.partition("/")
        user = SERVICE_ACCOUNT if role == "gpuctld" else role
        review = {"spec": {"user": user, "resourceAttributes": {
            "namespace": "default", "verb": verb, "resource": resource, "subresource": subresource}}}
        wait_for(lambda: self.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review,
                                  expect=(201,))[1]["status"]["allowed"] == expected,
                 deadline_s, f"{user} {'may' if expected else 'may not'} {verb} {resource}/{subresource}")

    def create_namespace(self, name, managed=True):
        labels = {"runwhere.ai/namespace": "true"} if managed else {}
        self.api("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}, expect=(201, 409))
        if self.with_controllers and "kube-controller-manager" in self.processes:
            wait_for(lambda: self.api("GET", f"/api/v1/namespaces/{name}")[0] == 200, 10, f"namespace {name}")
        return name

    def create_pull_secret(self, namespace, name="my-secret"):
        """The image pull secret that the samples name."""
        self.api("POST", f"/api/v1/namespaces/{namespace}/secrets", {
            "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": "{\"auths\":{}}"}}, expect=(201, 409))

    def create_node(self, name, gpus=8, pool=None, model=None, cpu="64", memory="512Gi", labels=None, taints=None,
                    gpu_resource="nvidia.com/gpu", ready_by_hand=None, pods="110"):
        """A node of the fake kubelets; Ready by hand (without a kubelet behind it) where KWOK does not run."""
        ready_by_hand = not self.with_kwok if ready_by_hand is None else ready_by_hand
        amount = {"cpu": cpu, "memory": memory, "pods": pods, **({gpu_resource: str(gpus)} if gpus else {})}
        node = {
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                           **({"runwhere.ai/pool": pool} if pool and pool != "default" else {}),
                           **({"runwhere.ai/gpu-type": model, "nvidia.com/gpu.product": model} if model else {}),
                           **(labels or {})},
                "annotations": {} if ready_by_hand else {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"taints": taints} if taints else {},
            "status": {"capacity": amount, "allocatable": amount}}
        if ready_by_hand:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            node["status"]["conditions"] = [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "by hand",
                "lastHeartbeatTime": now, "lastTransitionTime": now}]
        self.api("POST", "/api/v1/nodes", node, expect=(201,))
        if ready_by_hand and not self.throughput:
            # Admission taints every new node not-ready, and only a controller would take that away.
            self.api("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}}, expect=(200,))
        return name

    def create_default_nodes(self):
        names = []
        for pool, count, model, gpus in DEFAULT_NODES:
            for index in range(count):
                names.append(self.create_node(f"{pool.removesuffix('-pool')}-{index}", gpus, pool, model))
        self.wait_nodes_ready(names)
        return names

    def wait_nodes_ready(self, names, deadline_s=30):
        def all_ready():
            nodes = {node["metadata"]["name"]: node for node in self.get("/api/v1/nodes")["items"]}
            return all(
                name in nodes
                and any(condition["type"] == "Ready" and condition["status"] == "True"
                        for condition in nodes[name]["status"].get("conditions", []))
                and not any(taint["key"].startswith("node.kubernetes.io/not-ready")
                            for taint in nodes[name]["spec"].get("taints", []))
                for name in names)

        wait_for(all_ready, deadline_s, f"nodes {names} Ready", every_s=0.2)

    def pods(self, namespace, selector=""):
        query = f"?labelSelector={selector}" if selector else ""
        return self.get(f"/api/v1/namespaces/{namespace}/pods{query}")["items"]

    def audit_events(self, user=None, since=0):
        """Entries of the audit log from that byte on, parsed; those of one user only when given."""
        return read_audit_log(self.folder / "log" / "audit.log", user, since)

    def audit_size(self):
        file = self.folder / "log" / "audit.log"
        return file.stat().st_size if file.exists() else 0
