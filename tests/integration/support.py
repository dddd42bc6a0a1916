"""What the integration tests share: one Kubernetes for each process that runs them, gpuctld and gpuctl as processes,
pods in a line, a WebSocket reader. Nothing here knows how gpuctld works inside."""

import base64
import copy
import http.client
import itertools
import json
import os
import re
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPOSITORY / "tests" / "testbed")]

from processes import Process, free_port, wait_for  # noqa: E402
from testbed import DEFAULT_NODES, Testbed  # noqa: E402,F401

BINARIES = pathlib.Path(os.environ.get("GPUCTL_BIN", REPOSITORY / "build" / "release"))
EXAMPLES = REPOSITORY / "config" / "examples"
READY_S = 30  # for a daemon to be ready
BOUND_S = 20  # for pods that fit to be bound
RUNNING_S = 40  # for a job that fits to run, controllers and fake kubelets included
PREFIX = "runwhere.ai"
# Scaled down, so that a takeover after a kill does not take a quarter of a minute.
SHORT_LEASE = {"duration": "3s", "renewDeadline": "2s", "retryPeriod": "300ms"}
DEFAULT_LEASE = {"duration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}

_numbers = itertools.count(1)
_shared = {}


def shared_testbed():
    """The cluster of this process's tests: default nodes, the definitions of PodGroup and JobSet."""
    if "bed" not in _shared:
        bed = Testbed().start()
        _shared["bed"] = bed
        bed.create_default_nodes()
        install_pod_groups(bed)
    return _shared["bed"]


def stop_shared():
    bed = _shared.pop("bed", None)
    if bed is not None:
        bed.stop()


def unique(word):
    return f"{word}-{next(_numbers)}"


# (group, version) of the PodGroup dialects that come as custom resources.
POD_GROUP_DIALECTS = (("scheduling.x-k8s.io", "v1alpha1"), ("scheduling.volcano.sh", "v1beta1"), ("scheduling.run.ai", "v2alpha2"))


# (group, version, plural, kind) of further kinds of other projects that gpuctld reads.
OTHER_DIALECTS = (("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),)


def install_pod_groups(bed):
    """The smallest definitions that the PodGroups of scheduler-plugins, Volcano and KAI validate against, and JobSets."""
    kinds = [(group, version, "podgroups", "PodGroup") for group, version in POD_GROUP_DIALECTS]
    for group, version, plural, kind in (*kinds, *OTHER_DIALECTS):
        bed.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
                "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                              "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}},
            expect=(201, 409))
        wait_for(lambda: bed.api("GET", f"/apis/{group}/{version}/{plural}")[0] == 200, 20, f"{kind} of {group} is served")


# --- gpuctld and gpuctl ---

def merged(base, changes):
    result = copy.deepcopy(base)
    for key, value in (changes or {}).items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


class Daemon:
    """A running gpuctld with a configuration, journal and port of its own."""

    def __init__(self, changes=None, bed=None, role="gpuctld", folder=None, port=None, text=None, seeded_fault=None):
        self.seeded_fault = seeded_fault  # a name of scheduler/base/seeded_faults.hpp: a seeded fault
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="gpuctld-"))
        self._temporary = folder is None
        self.port = port or free_port()
        self.token = None
        self.configuration = {"server": {"port": self.port}, "journal": {"directory": str(self.folder / "journal")}}
        if bed is not None:
            self.configuration["cluster"] = {"mode": "kubernetes", "kubernetes": {
                "kubeconfig": str(bed.kubeconfig(role)), "lease": SHORT_LEASE, "bindTimeout": "1s"}}
        self.configuration = merged(self.configuration, changes)
        self.port = self.configuration["server"]["port"]
        self.text = text  # a whole configuration, instead of the one above; {port}, {journal}, {kubeconfig} are filled in
        if text is not None:
            for name, value in (("port", self.port), ("journal", self.folder / "journal"),
                                ("kubeconfig", bed.kubeconfig(role) if bed else "")):
                self.text = self.text.replace("{" + name + "}", str(value))
        self.process = None

    def write_configuration(self, configuration=None):
        file = self.folder / "gpuctld.yaml"
        if self.text is not None and configuration is None:
            file.write_text(self.text)
        else:
            file.write_text(json.dumps(configuration or self.configuration, indent=1))  # JSON is YAML
        return file

    def start(self, wait=True, environment=None):
        file = self.write_configuration()
        program = "gpuctld-faults" if self.seeded_fault else "gpuctld"
        if self.seeded_fault:
            environment = {**(environment or os.environ), "GPUCTL_SEEDED_FAULT": self.seeded_fault}
        self.process = Process("gpuctld", [BINARIES / program, "--config", file], self.folder / "gpuctld.log",
                               environment=environment)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=READY_S):
        def ready():
            if not self.process.alive:
                raise AssertionError(f"gpuctld ended with {self.process.exit_code}:\n{self.process.log()[-3000:]}")
            try:
                # On an API server a follower is ready, too; a test that starts a daemon here wants
                # it to lead.
                status, body = self.rest("GET", "/readyz?verbose=true")
                return status == 200 and ("lease" not in str(body) or re.search(r"leading(?! soon)", str(body)))
            except OSError:
                return False

        wait_for(ready, seconds, lambda: f"gpuctld ready; /readyz says {self.readiness()}; its log:\n{self.process.log()[-3000:]}")

    def readiness(self):
        try:
            return self.rest("GET", "/readyz?verbose=true")
        except OSError as problem:
            return str(problem)

    def stop(self, seconds=25):
        """SIGTERM; the exit code. A daemon that has to be killed fails the test."""
        code = None
        if self.process is not None and self.process.alive:
            self.process.send(15)
            try:
                code = self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise AssertionError(f"gpuctld did not stop within {seconds} s:\n{self.process.log()[-3000:]}") from None
            finally:
                self._clean()
        else:
            self._clean()
        return code

    def _clean(self):
        if self._temporary and not os.environ.get("GPUCTL_KEEP_TESTBED"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, *_):
        self.stop()

    def rest(self, method, path, body=None, content_type="application/yaml", headers=None, timeout=30):
        """(status, decoded body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            fields = dict(headers or {})
            if self.token:
                fields.setdefault("Authorization", f"Bearer {self.token}")
            if body is not None:
                fields.setdefault("Content-Type", content_type)
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except http.client.HTTPException as problem:
            raise OSError(f"{method} {path}: {problem!r}") from problem
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def get(self, path):
        status, body = self.rest("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {body}")
        return body

    def items(self, path):
        body = self.get(path)
        return body["items"] if isinstance(body, dict) else body

    def job(self, name, namespace):
        return self.rest("GET", f"/api/v1/jobs/{name}?namespace={namespace}")[1]

    def gpuctl(self, *arguments, check=True, stdin=None, timeout=60, namespace=None, server=None):
        """Runs the command line against this daemon, or at another address; its CompletedProcess."""
        command = [str(BINARIES / "gpuctl"), *arguments, "--server", server or f"http://127.0.0.1:{self.port}"]
        if namespace:
            command += ["-n", namespace]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, input=stdin,
                              stdin=None if stdin else subprocess.DEVNULL,
                              env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "NO_COLOR": "1"})
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done


# --- pods ---

def pod(name, gpus=1, labels=None, annotations=None, scheduler="gpuctl", cpu="1", memory="1Gi", pool=None,
        gpu_resource="nvidia.com/gpu", **spec):
    amount = {"cpu": cpu, "memory": memory, **({gpu_resource: str(gpus)} if gpus else {})}
    if pool:
        spec = {"nodeSelector": {f"{PREFIX}/pool": pool}, **spec}
    return {
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0,
                 "containers": [{"name": "main", "image": "example/main", "resources": {
                     "requests": amount, "limits": amount}}], **spec}}


def create_pod(bed, namespace, body, role="alice"):
    return bed.api("POST", f"/api/v1/namespaces/{namespace}/pods", body, as_role=role, expect=(201,))[1]


def create_volume(bed, namespace, claim, size="1Ti"):
    """A volume that every node reaches, reserved for that claim; removed by the caller."""
    name = unique("volume")
    bed.api("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain", "nfs": {"server": "nfs.lab.example", "path": "/data"},
        "claimRef": {"namespace": namespace, "name": claim}}}, expect=(201,))
    return name


def node_of(bed, namespace, name):
    return bed.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["spec"].get("nodeName")


def bound(bed, namespace, selector=""):
    """name → node of the namespace's pods that have one."""
    return {item["metadata"]["name"]: item["spec"]["nodeName"]
            for item in bed.pods(namespace, selector) if item["spec"].get("nodeName")}


def condition(pod_object, kind):
    return next((entry for entry in pod_object["status"].get("conditions", []) if entry["type"] == kind), None)


def events_about(bed, namespace, name):
    return [event for event in bed.get(f"/api/v1/namespaces/{namespace}/events")["items"]
            if event.get("involvedObject", {}).get("name") == name]


def gpus_per_node(bed, resource="nvidia.com/gpu"):
    """node → (requested by pods that are bound and not ended, allocatable)."""
    nodes = {node["metadata"]["name"]: [0, int(node["status"]["allocatable"].get(resource, 0))]
             for node in bed.get("/api/v1/nodes")["items"]}
    for item in bed.get("/api/v1/pods")["items"]:
        node = item["spec"].get("nodeName")
        if node in nodes and item["status"].get("phase") not in ("Succeeded", "Failed"):
            nodes[node][0] += sum(int(container.get("resources", {}).get("requests", {}).get(resource, 0))
                                  for container in item["spec"]["containers"])
    return nodes


def delete_namespace_pods(bed, namespace):
    bed.api("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0", expect=(200, 202))
    wait_for(lambda: not bed.pods(namespace), 30, f"the pods of {namespace} are gone", every_s=0.2)


# --- WebSocket: the part of RFC 6455 that a reader of text frames needs ---

class WebSocket:
    def __init__(self, port, path, headers=None, receive_buffer=None):
        self._socket = socket.socket()
        if receive_buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(30)
        self._socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                 *[f"{name}: {value}" for name, value in (headers or {}).items()]]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            more = self._socket.recv(65536)
            if not more:
                raise OSError(f"no answer to the upgrade: {self._rest!r}")
            self._rest += more
        head, self._rest = self._rest.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        if self.status != 101:
            raise OSError(f"no upgrade: {head!r} {self._rest!r}")

    def _take(self, size):
        while len(self._rest) < size:
            more = self._socket.recv(65536)
            if not more:
                raise OSError("closed without a close frame")
            self._rest += more
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def read(self, timeout=30):
        """The next text message, or None once the other side closed. Pings do not count as one."""
        end = time.monotonic() + timeout
        message = b""
        while True:
            self._socket.settimeout(max(0.01, end - time.monotonic()))
            first, second = self._take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            data = self._take(size)
            kind = first & 15
            if kind == 8:
                self.close_code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else None
                return None
            if kind == 9:
                self._send(10, data)
            elif kind in (0, 1, 2):
                message += data
                if first & 128:
                    return message.decode()

    def read_frame(self, timeout=30):
        text = self.read(timeout)
        return None if text is None else json.loads(text)

    def _send(self, kind, data):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        self._socket.sendall(bytes([128 | kind, 128 | len(data)]) + mask + masked)

    def close(self):
        """Breaks the connection without a goodbye, as a lost network does."""
        self._socket.close()


def in_threads(works):
    """Runs all at the same time; raises the first error."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as problem:  # noqa: BLE001  (shown by the caller's thread)
            errors.append(problem)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


def tls_context(bed):
    return ssl.create_default_context(cafile=bed.folder / "pki" / "ca.crt")
