"""What people write, as it is written: addresses, tokens, files from other editors, values that got lost."""

import json
import os
import socket
import subprocess
import tempfile
import threading
import unittest

from support import BINARIES, RUNNING_S, Daemon, wait_for

JOB = ("kind: training\njob: {name: NAME}\nenvironment: {image: a, env: {GPUCTL_SIM_RUN_TIME: 2s}}\n"
       "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n")


class Proxy:
    """A reverse proxy that serves a gpuctld below a path, WebSockets too."""

    def __init__(self, port, prefix):
        self._target, self._prefix = port, prefix.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.refused = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source, target, requests):
        try:
            while piece := source.recv(65536):
                if requests and b" HTTP/1.1\r\n" in piece:
                    line = piece.split(b"\r\n")[0]
                    if b" " + self._prefix + b"/" not in line:
                        self.refused.append(line)
                    piece = piece.replace(b" " + self._prefix + b"/", b" /", 1)
                target.sendall(piece)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._listener.close()


class Addresses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_a_path_is_that_of_a_reverse_proxy(self):
        proxy = Proxy(self.daemon.port, "/gpu")
        self.addCleanup(proxy.close)
        server = f"http://127.0.0.1:{proxy.port}/gpu/"
        self.daemon.gpuctl("create", "-f", "-", server=server, stdin=JOB.replace("NAME", "proxied"))
        wait_for(lambda: self.daemon.job("proxied", "default").get("status") in ("Running", "Succeeded"), RUNNING_S, "it runs")
        followed = self.daemon.gpuctl("logs", "-f", "proxied", server=server)
        self.assertIn("done", followed.stdout)
        self.assertIn("training-pool", self.daemon.gpuctl("get", "pools", "-o=json", server=server).stdout)
        self.assertEqual(proxy.refused, [])

    def test_a_port_beyond_65535_is_no_other_servers(self):
        for beyond in (65536, 2 * 65536, 2 ** 32):
            done = self.daemon.gpuctl("get", "pools", "--token", "s3cret-token-of-another", check=False,
                                      server=f"http://127.0.0.1:{self.daemon.port + beyond}")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("ports go from 1 to 65535", done.stderr)
            self.assertNotIn("s3cret", done.stderr + done.stdout)

    def test_habits_of_kubectl(self):
        pools = json.loads(self.daemon.gpuctl("get", "pools", "-o=json").stdout)
        self.assertTrue(pools["items"] if isinstance(pools, dict) else pools)
        self.assertEqual(self.daemon.gpuctl("get", "jobs", "-n=default", "-o=name").returncode, 0)
        upper = self.daemon.gpuctl("get", "pools", server=f"HTTP://127.0.0.1:{self.daemon.port}")
        self.assertIn("training-pool", upper.stdout)

    def test_listen_addresses_have_the_same_grammar(self):
        for address, says in (("127.0.0.1:73536", "ports go from 0 to 65535"), ("::1:8000", "brackets"),
                              ("localhost", "names no port"), ("host.example:80", "names no IP address"),
                              ("127.0.0.1:80\u200b", "U+200B ZERO WIDTH SPACE")):
            done = subprocess.run([str(BINARIES / "gpuctld"), "--check-config", "--listen", address], capture_output=True,
                                  text=True, check=False, timeout=30)
            self.assertEqual(done.returncode, 1, address)
            self.assertIn(says, done.stderr)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_documents_that_begin_with_a_byte_order_mark_are_documents(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write("\ufeff" + JOB.replace("NAME", "one") + "---\n\ufeff" + JOB.replace("NAME", "two") +
                       "\ufeff---\n" + JOB.replace("NAME", "three"))
            file.flush()
            done = self.daemon.gpuctl("create", "-f", file.name)
        for name in ("one", "two", "three"):
            self.assertIn(f"default/{name} created", done.stdout)

    def test_what_is_invisible_is_named_with_its_place(self):
        for text, says in ((JOB.replace("NAME", "a\u200bb"), "2:14: job.name contains U+200B ZERO WIDTH SPACE"),
                           (JOB.replace("gpu: 1", "gpu: 1\u00a0"), "resources.gpu contains U+00A0 NO-BREAK SPACE"),
                           (JOB.replace("job:", "jo\u00adb:"), "this key contains U+00AD SOFT HYPHEN"),
                           (JOB.replace("gpu: 1", "gpu:"), "resources.gpu is empty"),
                           (JOB.replace("gpu: 1", "gpu: null"), "resources.gpu is empty")):
            done = self.daemon.gpuctl("create", "-f", "-", stdin=text, check=False)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(says, done.stderr)

    def test_a_lost_value_of_a_variable_changes_nothing_and_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = os.path.join(folder, "tokens")
            with open(tokens, "w", encoding="utf-8") as file:
                file.write("0123456789abcdef0123 admin ada\n")
            os.chmod(tokens, 0o600)
            config = os.path.join(folder, "gpuctld.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"server: {{tokensFile: {tokens}}}\nlogging:\n  # level: debug\n")
            done = subprocess.run([str(BINARIES / "gpuctld"), "--config", config, "--check-config"], capture_output=True,
                                  text=True, check=False, timeout=30, env={**os.environ, "GPUCTLD_SERVER_TOKENS_FILE": ""})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("GPUCTLD_SERVER_TOKENS_FILE is set but empty, and is ignored", done.stderr)
            self.assertIn("logging is empty and counts as not given", done.stderr)


if __name__ == "__main__":
    unittest.main()
