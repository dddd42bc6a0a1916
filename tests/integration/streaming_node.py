"""A node whose kubelet really runs the commands of exec and attach and opens the ports of its pods
(tests/testbed/streaming), behind the real API server. The test itself reports that its pods run."""

import pathlib
import shutil
import tempfile
import time

import binaries
from processes import Process, wait_for
from support import BOUND_S, REPOSITORY, create_pod, node_of, pod


class StreamingNode:
    """`port`: of another kubelet, such as one that never answers."""

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
