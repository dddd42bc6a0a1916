"""exec, attach, cp, port-forward through gpuctld, the API server and the fake kubelet, which runs commands on this
machine. It reports each exit code but 0 as an error of its own, and does not pass on the end of the input, for which
the tar of a copy into a pod waits: both are tested in the unit tests only."""

import os
import pathlib
import pty
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from support import BINARIES, RUNNING_S, Daemon, create_pod, delete_namespace_pods, pod, shared_testbed, unique, wait_for

TIMEOUT_S = 60
ENVIRONMENT = {**os.environ, "GPUCTL_CONFIG": "/dev/null", "NO_COLOR": "1"}


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.namespace = cls.bed.create_namespace(unique("sessions"))
        cls.addClassCleanup(delete_namespace_pods, cls.bed, cls.namespace)
        create_pod(cls.bed, cls.namespace, pod("speaker", gpus=0), role="admin")
        wait_for(lambda: cls.daemon.job("speaker", cls.namespace).get("status") == "Running", RUNNING_S, "the pod runs")
        folder = tempfile.TemporaryDirectory(prefix="gpuctl-cp-")
        cls.addClassCleanup(folder.cleanup)
        cls.here = pathlib.Path(folder.name) / "here"
        cls.there = pathlib.Path(folder.name) / "there"
        cls.here.mkdir()
        cls.there.mkdir()

    def command(self, *words):
        verb, *rest = words
        return [str(BINARIES / "gpuctl"), verb, "--server", f"http://127.0.0.1:{self.daemon.port}", "-n", self.namespace, *rest]

    def gpuctl(self, *words, stdin=None):
        return subprocess.run(self.command(*words), capture_output=True, check=False, timeout=TIMEOUT_S, input=stdin,
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

    def test_exec_shows_both_streams(self):
        done = self.gpuctl("exec", "speaker", "--", "sh", "-c", "echo out; echo 'err or' >&2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"out\n", b"err or\n"), done)

    def test_exec_sends_input(self):
        data = os.urandom(3_000_000)
        done = self.gpuctl("exec", "speaker", "-i", "--", "head", "-c", str(len(data)), stdin=data)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(done.stdout == data, f"{len(done.stdout)} bytes came back of {len(data)}")

    def test_exec_of_a_command_that_fails_says_so(self):
        done = self.gpuctl("exec", "speaker", "--", "sh", "-c", "exit 3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"exit status 3", done.stderr)

    def test_exec_in_what_does_not_exist_is_refused_before_anything_runs(self):
        done = self.gpuctl("exec", "nobody", "--", "true")
        self.assertEqual(done.returncode, 3, done)
        done = self.gpuctl("exec", "speaker", "-c", "sidecar", "--", "true")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn(b"no container sidecar, only main", done.stderr)

    def test_exec_with_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        running = self.start("exec", "speaker", "-it", "--", "sh", "-c", "test -t 0 && echo is-a-terminal; sleep 1",
                             stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        end = time.monotonic() + TIMEOUT_S
        while b"is-a-terminal" not in shown and time.monotonic() < end:
            try:
                shown += os.read(ours, 1024)
            except OSError:
                break
        self.assertEqual(running.wait(TIMEOUT_S), 0, shown)
        self.assertIn(b"is-a-terminal", shown)

    def test_attach_shows_what_is_written_from_now_on(self):
        running = self.start("attach", "speaker", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stop = threading.Event()
        self.addCleanup(stop.set)

        def write():
            while not stop.wait(0.2):
                with open(self.bed.attached_log, "a", encoding="utf-8") as log:
                    log.write("2026-01-01T00:00:00.000000000Z stdout F still here\n")

        threading.Thread(target=write, daemon=True).start()
        self.assertIn(b"still here", running.stdout.readline())

    def test_cp_brings_a_folder_with_its_links(self):
        tree = self.there / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub" / "big").write_bytes(os.urandom(2_000_003))
        (tree / ("long-" + "n" * 120)).write_text("a long name\n")
        (tree / "link").symlink_to("sub/big")
        done = self.gpuctl("cp", f"speaker:{self.there}/tree", str(self.here / "back"))
        self.assertEqual(done.returncode, 0, done.stderr)
        same = subprocess.run(["diff", "-r", str(tree), str(self.here / "back")], capture_output=True, check=False)
        self.assertEqual(same.returncode, 0, same.stdout)
        self.assertEqual(os.readlink(self.here / "back" / "link"), "sub/big")

    def test_cp_of_one_file_gets_the_name_it_was_given(self):
        (self.there / "one").write_text("one\n")
        done = self.gpuctl("cp", f"speaker:{self.there}/one", str(self.here / "two"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.here / "two").read_text(), "one\n")
        self.assertEqual([name for name in os.listdir(self.here) if name.startswith(".gpuctl")], [])

    def test_cp_refuses_links_that_lead_out(self):
        (self.there / "evil").mkdir()
        (self.there / "evil" / "link").symlink_to("../../..")
        done = self.gpuctl("cp", f"speaker:{self.there}/evil", str(self.here))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(b"outside the destination", done.stderr)
        self.assertFalse((self.here / "evil" / "link").is_symlink())

    def test_cp_of_what_is_not_there_leaves_nothing(self):
        done = self.gpuctl("cp", f"speaker:{self.there}/missing", str(self.here / "missing"))
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.here / "missing").exists())

    def test_port_forward(self):
        server = socket.create_server(("127.0.0.1", self.bed.echo_port))
        self.addCleanup(server.close)

        def echo(connection):
            with connection:
                while data := connection.recv(65536):
                    connection.sendall(data)

        # Each in a thread: the far end of a connection may stay open after its near end was closed (docs/limits.md).
        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        running = self.start("port-forward", "speaker", ":80", stdout=subprocess.PIPE, text=True)
        first = running.stdout.readline()
        self.assertRegex(first, r"^Forwarding from 127.0.0.1:\d+ to port 80$")
        port = int(first.split(":")[1].split()[0])
        data = os.urandom(200_000)
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as client:
                writer = threading.Thread(target=client.sendall, args=(data,), daemon=True)
                writer.start()
                back = b""
                while len(back) < len(data):
                    more = client.recv(65536)
                    self.assertTrue(more, f"the connection ended after {len(back)} bytes")
                    back += more
                self.assertTrue(back == data)


if __name__ == "__main__":
    unittest.main()
