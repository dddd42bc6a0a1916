"""exec, attach and port-forward to their end: through gpuctld, the API server and Kubernetes' own streaming code
(streaming_node.py)."""

import fcntl
import hashlib
import os
import pty
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

from streaming_node import TIMEOUT_S, StreamingNode, StreamingTest
from support import in_threads, unique, wait_for

STOP_S = 12  # far below the 20 s of server.shutdownTimeout, also on a busy machine


class Exec(StreamingTest):
    def test_the_exit_code_is_that_of_the_command(self):
        for code in (0, 1, 2, 77, 255):
            done = self.gpuctl("exec", "worker", "--", "sh", "-c", f"exit {code}")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b"", b""), done)

    def test_a_command_that_is_killed_has_the_exit_code_of_its_signal(self):
        done = self.gpuctl("exec", "worker", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137, done)

    def test_a_command_learns_that_its_input_has_ended(self):
        data = os.urandom(3_000_000)
        done = self.gpuctl("exec", "worker", "-i", "--", "sh", "-c", "sha256sum; echo done", stdin=data)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.decode(), f"{hashlib.sha256(data).hexdigest()}  -\ndone\n")

    def test_a_command_without_input_has_none(self):
        done = self.gpuctl("exec", "worker", "--", "cat")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done)

    def test_a_program_that_the_image_lacks_is_named(self):
        done = self.gpuctl("exec", "worker", "--", "nvidia-smiley")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(b"nvidia-smiley", done.stderr)
        self.assertIn(b"executable file not found", done.stderr)

    def test_a_reader_that_leaves_ends_the_session_without_a_word(self):
        started = time.monotonic()
        running = self.start("exec", "worker", "--", "yes", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        head = subprocess.run(["head", "-1"], stdin=running.stdout, capture_output=True, check=True)
        running.stdout.close()
        self.assertEqual(head.stdout, b"y\n")
        self.assertEqual(running.wait(TIMEOUT_S), 1)
        self.assertEqual(running.stderr.read(), b"")
        self.assertLess(time.monotonic() - started, 30)
        running.stdout = None
        self.wait_no_sessions()

    def test_bytes_and_sessions_are_counted(self):
        opened, to_pods = 'gpuctld_sessions_opened_total{kind="exec"}', 'gpuctld_session_bytes_total{direction="to_pods"}'
        before = self.metric(opened), self.metric(to_pods)
        self.gpuctl("exec", "worker", "-i", "--", "cat", stdin=b"x" * 12_345)
        self.assertEqual((self.metric(opened) - before[0], self.metric(to_pods) - before[1]), (1, 12_345))

    def test_attach_shows_both_streams_and_sends_input(self):
        done = self.gpuctl("attach", "worker", "-i", stdin=b"typed\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"attached\ntyped\n", b"to errors\n"), done)


class Terminal(StreamingTest):
    def terminal(self, columns, rows, *words):
        """gpuctl with a controlling terminal of that size; (the process, the other end of its terminal)."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.resize(ours, columns, rows)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        running = self.start(*words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
        os.close(theirs)
        return running, ours

    @staticmethod
    def resize(terminal, columns, rows):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, terminal, wanted, shown=b""):
        end = time.monotonic() + TIMEOUT_S
        while wanted not in shown and time.monotonic() < end:
            try:
                shown += os.read(terminal, 1024)
            except OSError:
                break
        self.assertIn(wanted, shown)
        return shown

    def test_the_command_learns_the_size_at_once_and_each_new_one(self):
        script = "trap 'stty size' WINCH; trap 'exit 5' INT; stty size; while :; do sleep 0.1; done"
        running, ours = self.terminal(101, 31, "exec", "worker", "-it", "--", "bash", "-c", script)
        self.read_until(ours, b"31 101")
        self.resize(ours, 77, 22)
        self.read_until(ours, b"22 77")
        self.resize(ours, 133, 44)
        self.read_until(ours, b"44 133")
        os.write(ours, b"\x03")
        self.assertEqual(running.wait(TIMEOUT_S), 5)

    def test_ctrl_c_goes_to_the_command_and_the_terminal_is_as_before_afterwards(self):
        running, ours = self.terminal(80, 24, "exec", "worker", "-it", "--", "bash", "-c",
                                      "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done")
        before = termios.tcgetattr(ours)
        self.read_until(ours, b"ready")
        os.write(ours, b"\x03")
        self.read_until(ours, b"caught")
        self.assertEqual(running.wait(TIMEOUT_S), 9)
        after = termios.tcgetattr(ours)
        self.assertTrue(before[3] & termios.ECHO or after[3] & termios.ECHO)
        self.assertTrue(after[3] & termios.ICANON, "the terminal is restored")


class Ports(StreamingTest):
    changes = {"expert": {"server": {"sessionsPerCallerMax": 100}}}  # a busy machine ends sessions late

    def echo_server(self):
        """(port, the open connections)."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        there = set()

        def echo(connection):
            there.add(connection)
            with connection:
                try:
                    while data := connection.recv(65536):
                        connection.sendall(data)
                except OSError:
                    pass
            there.discard(connection)

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1], there

    def forward(self, port):
        running = self.start("port-forward", "worker", f":{port}", stdout=subprocess.PIPE, text=True)
        first = running.stdout.readline()
        self.assertRegex(first, rf"^Forwarding from 127.0.0.1:\d+ to port {port}$")
        return int(first.split(":")[1].split()[0])

    def test_the_far_end_of_many_connections_closes_when_the_near_end_does(self):
        port, there = self.echo_server()
        near = self.forward(port)

        def use(number):
            data = bytes([number]) * 20_000
            with socket.create_connection(("127.0.0.1", near), timeout=TIMEOUT_S) as client:
                client.sendall(data)
                back = b""
                while len(back) < len(data):
                    more = client.recv(65536)
                    self.assertTrue(more, f"connection {number} ended after {len(back)} bytes")
                    back += more
                self.assertTrue(back == data)

        in_threads([lambda number=number: use(number) for number in range(80)])
        wait_for(lambda: not there, 20, lambda: f"{len(there)} connections are still open in the pod")
        self.wait_no_sessions()

    def test_a_connection_that_is_never_answered_is_closed_in_the_pod_too(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        near = self.forward(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", near), timeout=TIMEOUT_S) as client:
            client.sendall(b"question")
            server.settimeout(TIMEOUT_S)
            connection, _ = server.accept()
            self.addCleanup(connection.close)
            connection.settimeout(20)
            self.assertEqual(connection.recv(100), b"question")
        self.assertEqual(connection.recv(100), b"", "the near end has closed")

    def test_a_port_without_a_listener_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        running = self.start("port-forward", "worker", f":{port}", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        near = int(running.stdout.readline().split(":")[1].split()[0])
        with socket.create_connection(("127.0.0.1", near), timeout=TIMEOUT_S) as client:
            self.assertEqual(client.recv(100), b"")
        self.assertIn(f"failed to connect to localhost:{port} inside the pod", running.stderr.readline())


class Limits(StreamingTest):
    changes = {"expert": {"server": {"sessionsPerCallerMax": 2}}}

    def test_one_session_too_many_is_refused_with_a_sentence(self):
        for _ in range(2):
            running = self.start("exec", "worker", "-i", "--", "sh", "-c", "echo open; cat", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
            self.assertEqual(running.stdout.readline(), b"open\n")
        done = self.gpuctl("exec", "worker", "--", "true")
        self.assertEqual(done.returncode, 7, done)
        self.assertIn(b"has 2 open sessions already, which is the most for one caller", done.stderr)
        self.assertEqual(self.metric('gpuctld_sessions{kind="exec"}'), 2)
        self.assertGreaterEqual(self.metric('gpuctld_sessions_failed_total{kind="exec",reason="limit"}'), 1)


class Idle(StreamingTest):
    changes = {"expert": {"server": {"sessionIdle": "3s"}}}

    def test_an_idle_session_is_ended_with_the_reason(self):
        done = self.gpuctl("exec", "worker", "--", "sleep", "60")
        self.assertEqual(done.returncode, 6, done)
        self.assertIn(b"no byte in either direction for 3 s (expert.server.sessionIdle)", done.stderr)


class Stop(StreamingTest):
    """One test, which stops its gpuctld."""

    def test_sessions_with_a_kubelet_that_never_answers_do_not_delay_the_stop(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        node = StreamingNode(self.bed, unique("silent-node"), unique("silent-pool"), silent.getsockname()[1])
        self.addCleanup(node.clean)
        node.run_pod(self.namespace, "silent")
        self.wait_running("silent")
        started = [self.start("exec", "silent", "--", "true", stderr=subprocess.PIPE)]
        forward = self.start("port-forward", "silent", ":80", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        near = int(forward.stdout.readline().decode().split(":")[1].split()[0])
        client = socket.create_connection(("127.0.0.1", near), timeout=TIMEOUT_S)
        self.addCleanup(client.close)
        wait_for(lambda: self.metric('gpuctld_sessions{kind="portforward"}') == 1
                 and self.metric('gpuctld_sessions{kind="exec"}') == 1, 20, "both sessions are being opened")
        # One whose client takes nothing, so that gpuctld waits in a write.
        unread = self.start("exec", "worker", "--", "yes", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        sent = 'gpuctld_session_bytes_total{direction="from_pods"}'
        wait_for(lambda: self.metric(sent) > 0 and self.metric(sent) == (time.sleep(1) or self.metric(sent)), 30,
                 "the reader's buffers are full")
        begun = time.monotonic()
        self.daemon.stop()
        self.assertLess(time.monotonic() - begun, STOP_S)
        unread.kill()
        self.assertNotEqual(started[0].wait(TIMEOUT_S), 0)
        self.assertIn(b"gpuctld is stopping", started[0].stderr.read())


if __name__ == "__main__":
    unittest.main()
