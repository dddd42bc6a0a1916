"""Readers of logs that no longer answer: they go, and nothing else is held up."""

import base64
import os
import socket
import time
import unittest

from support import REPOSITORY, Daemon, wait_for

JOB = REPOSITORY / "config" / "examples" / "notebook.yaml"
NAME = "data-prep-notebook"
CONFIGURATION = REPOSITORY / "config" / "examples" / "gpuctld.yaml"


class SilentReader(unittest.TestCase):
    def test_a_reader_that_answers_no_ping_is_dropped_and_the_daemon_continues(self):
        text = CONFIGURATION.read_text() + (
            "server: {port: {port}}\njournal: {directory: {journal}}\nexpert: {logs: {pingInterval: 1s}}\n")
        daemon = Daemon({}, text=text).start()
        self.addCleanup(daemon.stop)
        daemon.gpuctl("create", "-f", JOB)
        wait_for(lambda: daemon.get(f"/api/v1/jobs/{NAME}")["status"] == "Running", 20, "it runs")

        reader = socket.create_connection(("127.0.0.1", daemon.port), timeout=20)
        self.addCleanup(reader.close)
        key = base64.b64encode(os.urandom(16)).decode()
        reader.sendall(f"GET /api/v1/jobs/{NAME}/logs/ws HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nUpgrade: websocket\r\n"
                       f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        began, answer = time.monotonic(), b""
        while chunk := reader.recv(65536):  # frames and pings, none answered
            answer += chunk
            self.assertLess(time.monotonic() - began, 20, "it is dropped")
        self.assertTrue(answer.startswith(b"HTTP/1.1 101"), answer[:200])

        used = daemon.process.cpu_ms()
        for _ in range(20):
            self.assertEqual(daemon.rest("GET", "/livez")[0], 200)
            time.sleep(0.1)
        self.assertLess(daemon.process.cpu_ms() - used, 1_000, "it does not spin")
        daemon.process.send(15)
        self.assertEqual(daemon.process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
