"""A node whose kubelet really runs the commands of exec and attach and opens the ports of its pods
(tests/testbed/streaming), behind the real API server. The test itself reports that its pods run."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from support import (BINARIES, BOUND_S, DEFAULT_LEASE, REPOSITORY, RUNNING_S, Daemon, create_pod, delete_namespace_pods,
                     merged, node_of, pod, shared_testbed, unique)
import binaries  # found once support is there
from processes import Process, wait_for

TIMEOUT_S = 120
ENVIRONMENT = {**os.environ, "GPUCTL_CONFIG": "/dev/null", "NO_COLOR": "1"}


class StreamingNode:
    """`port`: of another kubelet, such as a silent one."""

    def __init__(self, bed, name, pool, port=None):
        self.bed, self.name, self.pool = bed, name, pool
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-streaming-"))
        self.files = self.folder / "files"  # the working directory of commands
        self.programs = self.folder / "programs"  # found before the machine's own
        self.files.mkdir()
        self.programs.mkdir()
        self.process = None
        self.port = port or self._start()
        bed.create_node(name, gpus=0, pool=pool, ready_by_hand=True)
        bed.api("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}}, expect=(200,))

    def _start(self):
        program = binaries.build_module(REPOSITORY / "tests" / "testbed" / "streaming", "streaming")
        pki = self.bed.folder / "pki"
        self.process = Process("streaming", [
            program, "-certificate", pki / "server.crt", "-key", pki / "server.key", "-folder", self.files,
            "-path", f"{self.programs}:/usr/local/bin:/usr/bin:/bin"], self.folder / "log")
        first = wait_for(lambda: self.process.log().partition("\n")[0] if "\n" in self.process.log() else "", 20,
                         "the streaming kubelet listens")
        return int(first)

    def run_pod(self, namespace, name):
        """A pod that gpuctl binds to this node, and that runs."""
        create_pod(self.bed, namespace, pod(name, gpus=0, pool=self.pool), role="admin")
        wait_for(lambda: node_of(self.bed, namespace, name) == self.name, BOUND_S, f"pod {name} is on {self.name}")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.bed.api("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", {"status": {
            "phase": "Running", "podIP": "127.0.0.1", "hostIP": "127.0.0.1", "startTime": now,
            "conditions": [{"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")],
            "containerStatuses": [{
                "name": "main", "ready": True, "started": True, "restartCount": 0, "image": "example/main",
                "imageID": "example/main", "containerID": "test://main", "state": {"running": {"startedAt": now}}}]}},
            expect=(200,))

    def clean(self):
        self.bed.api("DELETE", f"/api/v1/nodes/{self.name}", expect=(200, 404))
        if self.process is not None:
            self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class StreamingTest(unittest.TestCase):
    """One pod `worker` on such a node, and a gpuctld."""

    changes = {}  # of the configuration

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        # A gpuctld that loses its lease ends its sessions: not the short lease of other tests.
        lease = {"cluster": {"kubernetes": {"lease": DEFAULT_LEASE}}}
        cls.daemon = Daemon(merged(lease, cls.changes), bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.namespace = cls.bed.create_namespace(unique("streaming"))
        cls.node = StreamingNode(cls.bed, unique("streaming-node"), unique("streaming-pool"))
        cls.addClassCleanup(cls.node.clean)
        cls.addClassCleanup(delete_namespace_pods, cls.bed, cls.namespace)
        cls.node.run_pod(cls.namespace, "worker")
        cls.wait_running("worker")

    @classmethod
    def wait_running(cls, name):
        wait_for(lambda: cls.daemon.job(name, cls.namespace).get("status") == "Running", RUNNING_S, f"{name} runs")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuctl-streaming-")
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        self.there = self.node.files / unique("files")
        self.there.mkdir()

    def command(self, *words):
        verb, *rest = words
        return [str(BINARIES / "gpuctl"), verb, "--server", f"http://127.0.0.1:{self.daemon.port}", "-n", self.namespace, *rest]

    def gpuctl(self, *words, stdin=None, timeout=TIMEOUT_S):
        return subprocess.run(self.command(*words), capture_output=True, check=False, timeout=timeout, input=stdin,
                              stdin=None if stdin is not None else subprocess.DEVNULL, env=ENVIRONMENT)

    def start(self, *words, seconds=TIMEOUT_S, **options):
        """A command that runs on; it is killed with the test, or when it has taken too long, which ends every read of it."""
        running = subprocess.Popen(self.command(*words), env=ENVIRONMENT, **options)
        late = threading.Timer(seconds, running.kill)
        late.start()
        self.addCleanup(late.cancel)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        return running

    def metric(self, line):
        """The value of that series; 0 where it is not there."""
        text = self.daemon.rest("GET", "/metrics")[1]
        return float(next((row.rsplit(" ", 1)[1] for row in text.splitlines() if row.startswith(line + " ")), 0))

    def wait_no_sessions(self):
        kinds = ("exec", "attach", "portforward")
        wait_for(lambda: not any(self.metric(f'gpuctld_sessions{{kind="{kind}"}}') for kind in kinds), 20,
                 "gpuctld has no open session")
