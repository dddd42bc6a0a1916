"""exec, attach, cp and port-forward to their end: through gpuctld, the API server and Kubernetes' own streaming code
(streaming_node.py)."""

import hashlib
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

from streaming_node import StreamingNode
from support import BINARIES, RUNNING_S, Daemon, delete_namespace_pods, shared_testbed, unique, wait_for

TIMEOUT_S = 60
ENVIRONMENT = {**os.environ, "GPUCTL_CONFIG": "/dev/null", "NO_COLOR": "1"}


class Streaming(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.namespace = cls.bed.create_namespace(unique("streaming"))
        cls.node = StreamingNode(cls.bed, unique("streaming-node"), unique("streaming-pool"))
        cls.addClassCleanup(cls.node.clean)
        cls.addClassCleanup(delete_namespace_pods, cls.bed, cls.namespace)
        cls.node.run_pod(cls.namespace, "worker")
        wait_for(lambda: cls.daemon.job("worker", cls.namespace).get("status") == "Running", RUNNING_S, "the pod runs")

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

    def start(self, *words, **streams):
        """A command that runs on; it is killed with the test, or when it has taken too long, which ends every read of it."""
        running = subprocess.Popen(self.command(*words), env=ENVIRONMENT, **streams)
        late = threading.Timer(TIMEOUT_S, running.kill)
        late.start()
        self.addCleanup(late.cancel)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        return running


class Exec(Streaming):
    def test_the_exit_code_is_that_of_the_command(self):
        for code in (0, 1, 3, 77, 255):
            done = self.gpuctl("exec", "worker", "--", "sh", "-c", f"exit {code}")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b"", b""), done)

    def test_a_command_learns_that_its_input_has_ended(self):
        data = os.urandom(3_000_000)
        done = self.gpuctl("exec", "worker", "-i", "--", "sh", "-c", "sha256sum; echo done", stdin=data)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.decode(), f"{hashlib.sha256(data).hexdigest()}  -\ndone\n")

    def test_a_command_without_input_has_none(self):
        done = self.gpuctl("exec", "worker", "--", "cat")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done)


if __name__ == "__main__":
    unittest.main()
