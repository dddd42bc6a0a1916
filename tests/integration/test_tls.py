"""gpuctld on an open address: HTTPS and secure WebSockets with tokens and, where asked, client certificates."""

import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from support import BINARIES, RUNNING_S, Daemon, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "testbed"))
from processes import make_certificates  # noqa: E402

TOKEN = "user-token-aaaaaaaaaa"
GANG = """kind: training
job: {name: pair, expectedRunTime: 60s}
environment: {image: a}
resources: {pool: training-pool, gpu: 8, cpu: 1, memory: 1Gi, nodeCount: 2}
"""


def authority(folder):
    """ca.crt, server.{crt,key} for 127.0.0.1, and a client certificate of the same authority."""
    folder.mkdir()
    make_certificates(folder)
    return folder


class Secure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-tls-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.ours, cls.strangers = authority(cls.folder / "ours"), authority(cls.folder / "strangers")
        tokens = cls.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(f"{TOKEN} user ursula\n")
        cls.daemon = Daemon({"server": {
            "address": "0.0.0.0", "tokensFile": str(tokens),
            "tls": {"certificateFile": str(cls.ours / "server.crt"), "keyFile": str(cls.ours / "server.key")}}})
        cls.daemon.start(wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        wait_for(lambda: cls.gpuctl("get", "pools").returncode == 0, 30, lambda: cls.daemon.process.log()[-3000:])

    @classmethod
    def gpuctl(cls, *arguments, ca="ours", token=TOKEN, timeout=60):
        environment = {**os.environ, "GPUCTL_CONFIG": "/dev/null", "NO_COLOR": "1", "GPUCTL_TOKEN": token}
        return subprocess.run(
            [str(BINARIES / "gpuctl"), *arguments, "--server", f"https://127.0.0.1:{cls.daemon.port}",
             "--ca-file", str(cls.folder / ca / "ca.crt")],
            capture_output=True, text=True, check=False, timeout=timeout, env=environment)

    def handshake(self, **options):
        context = ssl.create_default_context(cafile=self.ours / "ca.crt")
        for name, value in options.items():
            setattr(context, name, value)
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return secure.version()

    def test_a_job_is_submitted_and_all_its_ranks_are_followed(self):
        made = subprocess.run(
            [str(BINARIES / "gpuctl"), "create", "-f", "-", "--server", f"https://127.0.0.1:{self.daemon.port}",
             "--ca-file", str(self.ours / "ca.crt")], input=GANG, capture_output=True, text=True, check=False,
            timeout=60, env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "GPUCTL_TOKEN": TOKEN})
        self.assertEqual(made.returncode, 0, made.stderr)
        with subprocess.Popen(
                [str(BINARIES / "gpuctl"), "logs", "pair", "-f", "--all-pods", "--server",
                 f"https://127.0.0.1:{self.daemon.port}", "--ca-file", str(self.ours / "ca.crt")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "GPUCTL_TOKEN": TOKEN}) as follower:
            self.addCleanup(follower.kill)
            ranks, steps = set(), {}
            for line in follower.stdout:
                name, text = line.removeprefix("[").split("] ", 1)
                ranks.add(name.rsplit("-", 1)[0])
                if text.startswith("step "):
                    steps.setdefault(name, []).append(int(text.split()[1].split("/")[0]))
                if len(steps) == 2 and all(len(seen) >= 3 for seen in steps.values()):
                    break
            follower.kill()
        self.assertEqual(ranks, {"pair-0", "pair-1"})
        for name, seen in steps.items():
            self.assertEqual(seen, list(range(seen[0], seen[0] + len(seen))), f"{name}: no line lost or twice")
        once = self.gpuctl("logs", "pair", "--all-pods", "--tail", "2")
        self.assertEqual(once.returncode, 0, once.stderr)
        self.assertIn("[pair-0-", once.stdout)
        self.assertIn("[pair-1-", once.stdout)
        self.assertEqual(self.gpuctl("delete", "job", "pair").returncode, 0)

    def test_a_wrong_authority_is_not_trusted(self):
        done = self.gpuctl("get", "jobs", ca="strangers")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("certificate", done.stderr)

    def test_a_client_with_the_wrong_scheme_gets_the_right_one(self):
        def asks(server, *more):
            done = subprocess.run([str(BINARIES / "gpuctl"), "get", "pools", "--server", server, *more], text=True,
                                  capture_output=True, check=False, timeout=60,
                                  env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "GPUCTL_TOKEN": TOKEN})
            self.assertNotEqual(done.returncode, 0)
            return done.stderr

        self.assertIn("--server must begin with https://", asks(f"http://127.0.0.1:{self.daemon.port}"))
        self.assertIn("--ca-file", asks(f"https://127.0.0.1:{self.daemon.port}"))
        with socket.create_server(("127.0.0.1", 0)) as mute:
            answer = asks(f"https://127.0.0.1:{mute.getsockname()[1]}")
        self.assertIn("(Unreachable)", answer, "a server that hangs is no fault of TLS")

    def test_a_client_without_token_is_refused(self):
        done = self.gpuctl("get", "jobs", token="wrong-token-aaaaaaaaa")
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_old_versions_of_tls_are_refused(self):
        self.assertIn(self.handshake(), ("TLSv1.2", "TLSv1.3"))
        with self.assertRaises((ssl.SSLError, OSError)):
            self.handshake(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)

    def test_plain_http_and_silent_connections_do_no_harm(self):
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=15) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            try:
                answer = plain.recv(4096)
            except ConnectionResetError:
                answer = b""
        self.assertFalse(answer.startswith(b"HTTP/1.1 200"), answer)
        silent = [socket.create_connection(("127.0.0.1", self.daemon.port), timeout=15) for _ in range(20)]
        self.assertEqual(self.gpuctl("get", "pools").returncode, 0, "other clients are served next to twenty silent ones")
        for connection in silent:
            connection.close()

    def test_a_new_certificate_is_used_on_reload_and_a_broken_one_is_not(self):
        before = self.certificate_now()
        kept = {name: (self.ours / name).read_bytes() for name in ("server.crt", "server.key")}
        again = authority(self.folder / "again")
        # The same authority must sign it, or no client would trust the new one.
        subprocess.run(["openssl", "x509", "-req", "-in", str(again / "server.csr"), "-CA", str(self.ours / "ca.crt"),
                        "-CAkey", str(self.ours / "ca.key"), "-CAcreateserial", "-days", "30", "-extfile",
                        str(again / "names.cnf"), "-out", str(again / "signed.crt")], check=True, capture_output=True)
        shutil.copy(again / "signed.crt", self.ours / "server.crt")
        shutil.copy(again / "server.key", self.ours / "server.key")
        self.daemon.process.send(1)
        wait_for(lambda: self.certificate_now() not in (None, before), 10, "the new certificate is shown")
        (self.ours / "server.crt").write_text("no certificate\n")
        self.daemon.process.send(1)
        wait_for(lambda: "server.crt" in self.daemon.process.log(), 10, lambda: self.daemon.process.log()[-1500:])
        self.assertNotIn(self.certificate_now(), (None, before))
        for name, data in kept.items():
            (self.ours / name).write_bytes(data)
        self.daemon.process.send(1)
        wait_for(lambda: self.certificate_now() == before, 10, "the first certificate is back")

    def certificate_now(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10) as plain:
                with context.wrap_socket(plain) as secure:
                    der = secure.getpeercert(binary_form=True)
        except OSError:
            return None
        text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-serial"], input=der, capture_output=True,
                              check=True).stdout.decode()
        return text.strip().removeprefix("serial=")


class ClientCertificates(unittest.TestCase):
    def test_only_certificates_of_the_named_authority_are_accepted(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-mtls-"))
        self.addCleanup(shutil.rmtree, folder, True)
        ours, strangers = authority(folder / "ours"), authority(folder / "strangers")
        daemon = Daemon({"server": {"tls": {
            "certificateFile": str(ours / "server.crt"), "keyFile": str(ours / "server.key"),
            "clientCaFile": str(ours / "ca.crt")}}})
        daemon.start(wait=False)
        self.addCleanup(daemon.stop)

        def ask(client):
            context = ssl.create_default_context(cafile=ours / "ca.crt")
            if client is not None:
                context.load_cert_chain(client / "server.crt", client / "server.key")
            try:
                with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as plain:
                    with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                        secure.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                        return secure.recv(4096)[:12]
            except OSError as problem:
                return type(problem).__name__.encode()

        wait_for(lambda: ask(ours) == b"HTTP/1.1 200", RUNNING_S, lambda: (ask(ours), daemon.process.log()[-2000:]))
        for client in (None, strangers):
            self.assertFalse(ask(client).startswith(b"HTTP/"), ask(client))

        def gpuctl(client=None, key=None):
            identity = [] if client is None else ["--certificate-file", str(client / "server.crt"),
                                                  "--key-file", str((key or client) / "server.key")]
            done = subprocess.run([str(BINARIES / "gpuctl"), "get", "pools", "--server", f"https://127.0.0.1:{daemon.port}",
                                   "--ca-file", str(ours / "ca.crt"), *identity], text=True, capture_output=True,
                                  check=False, timeout=60, env={**os.environ, "GPUCTL_CONFIG": "/dev/null"})
            return done.returncode, done.stderr

        self.assertEqual(gpuctl(ours), (0, ""))
        for identity, hint in (((), "give --certificate-file and --key-file"),
                               ((strangers,), "does not accept the certificate of --certificate-file"),
                               ((ours, strangers), "--key-file is not the key of --certificate-file")):
            code, answer = gpuctl(*identity)
            self.assertEqual(code, 7, answer)
            self.assertIn(hint, answer)
        health = [str(BINARIES / "gpuctld"), "--config", str(daemon.folder / "gpuctld.yaml"), "healthcheck"]
        self.assertEqual(subprocess.run(health, capture_output=True, check=False, timeout=30).returncode, 0)
        flags_last = [health[0], health[3], *health[1:3]]  # once refused as unknown
        self.assertEqual(subprocess.run(flags_last, capture_output=True, check=False, timeout=30).returncode, 0)
        daemon.stop()
        self.assertNotEqual(subprocess.run(health, capture_output=True, check=False, timeout=30).returncode, 0)


if __name__ == "__main__":
    unittest.main()
