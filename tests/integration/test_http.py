"""Bad input over the wire to a running daemon: each answered clearly or cut off, and nothing lost by it."""

import json
import os
import re
import socket
import stat
import subprocess
import time
import unittest

from support import BINARIES, Daemon, in_threads, wait_for

GOOD = """kind: training
job: {name: %s}
environment: {image: example/train}
resources: {gpu: 1, cpu: 1, memory: 1Gi}
"""


def exchange(port, data, seconds=15, parts=(), half_close=False):
    """Sends bytes as they are; everything that comes back until the other side closes or the time is up."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        received = b""
        try:
            connection.sendall(data)
            for part, pause_s in parts:
                time.sleep(pause_s)
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except (TimeoutError, ConnectionResetError):
            pass
    return received


def status_of(answer):
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else None


class BadRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon({"expert": {"server": {"requestTimeout": "2s", "bodyBytesMax": "64Ki"}}}).start()
        cls.addClassCleanup(cls.daemon.stop)

    def tearDown(self):
        self.assertEqual(self.daemon.rest("GET", "/health")[0], 200, "it is still well afterwards")

    def send(self, text, **options):
        return exchange(self.daemon.port, text.encode() if isinstance(text, str) else text, **options)

    def post(self, body, headers="", path="/api/v1/jobs", kind="application/yaml"):
        data = body.encode() if isinstance(body, str) else body
        return self.send(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {kind}\r\n"
                         f"Content-Length: {len(data)}\r\n{headers}\r\n".encode() + data)

    def test_half_a_request_is_cut_off_in_time(self):
        began = time.monotonic()
        answer = self.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ")
        self.assertLess(time.monotonic() - began, 12)
        self.assertIn(status_of(answer), (None, 408))

    def test_half_a_body_is_cut_off_in_time(self):
        answer = self.send("POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/yaml\r\nContent-Length: 100\r\n\r\nkind:")
        self.assertIn(status_of(answer), (None, 408))

    def test_a_request_byte_by_byte_does_not_hold_a_connection_for_ever(self):
        began = time.monotonic()
        parts = [(b"x", 0.2)] * 60
        self.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", parts=parts)
        self.assertLess(time.monotonic() - began, 25)

    def test_slow_clients_do_not_block_other_clients(self):
        slow = [socket.create_connection(("127.0.0.1", self.daemon.port)) for _ in range(50)]
        for connection in slow:
            connection.sendall(b"GET /he")
        self.assertEqual(self.daemon.rest("GET", "/health")[0], 200)
        for connection in slow:
            connection.close()

    def test_a_body_that_is_too_large_is_413(self):
        self.assertEqual(status_of(self.post("a" * 200_000)), 413)

    def test_an_endless_body_is_413_or_cut(self):
        head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/yaml\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"4000\r\n" + b"a" * 0x4000 + b"\r\n"
        self.assertIn(status_of(self.send(head, parts=[(chunk, 0)] * 200)), (None, 413))

    def test_endless_headers_are_refused(self):
        self.assertIn(status_of(self.send("GET / HTTP/1.1\r\n" + "".join(f"X-{n}: {'a' * 200}\r\n" for n in range(2000)) + "\r\n")),
                      (400, 431))

    def test_framing_tricks_are_refused(self):
        for name, head in {
                "two lengths": "Content-Length: 5\r\nContent-Length: 6\r\n",
                "length and chunked": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "chunked not last": "Transfer-Encoding: chunked, identity\r\n",
                "unknown coding": "Transfer-Encoding: gzip\r\n",
                "negative length": "Content-Length: -1\r\n",
                "length with sign": "Content-Length: +5\r\n"}.items():
            with self.subTest(name):
                answer = self.send(f"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/yaml\r\n{head}\r\n0\r\n\r\n",
                                   half_close=True)
                self.assertIn(status_of(answer), (400, 411, 413, 501), answer[:100])

    def test_a_request_that_is_not_http_is_refused(self):
        for name, data in {"binary": bytes(range(256)), "tls hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                           "no version": b"GET /\r\n\r\n", "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                           "no host": b"GET /health HTTP/1.1\r\n\r\n"}.items():
            with self.subTest(name):
                self.assertNotEqual(status_of(self.send(data, half_close=True)), 200)

    def test_unknown_paths_verbs_and_types_are_problems_with_a_code(self):
        for method, path, body, wanted in (("GET", "/nowhere", None, 404), ("PATCH", "/api/v1/jobs", "a", 405),
                                           ("GET", "/api/v1/jobs/none", None, 404), ("GET", "/api/v1/jobs?page=0", None, 400),
                                           ("GET", "/api/v1/jobs?unknown=1", None, 400),
                                           ("GET", "/api/v1/jobs?namespace=a&namespace=b", None, 400)):
            with self.subTest(f"{method} {path}"):
                status, answer = self.daemon.rest(method, path, body)
                self.assertEqual(status, wanted, answer)
                self.assertTrue(answer["error"] and answer["message"], answer)
        status, answer = self.daemon.rest("POST", "/api/v1/jobs", "x", content_type="text/plain")
        self.assertEqual(status, 415, answer)

    def test_broken_documents_are_400_with_a_place(self):
        deep = "{a: " * 3000 + "1" + "}" * 3000
        bombs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9))
        cases = {"tab": "kind:\ttraining\njob:\n\tname: a\n", "unclosed": "kind: [training\n", "no kind": "job: {name: a}\n",
                 "unknown kind": "kind: teapot\njob: {name: a}\n", "deep": deep, "aliases": bombs, "empty": "", "scalar": "42",
                 "twice": "kind: training\nkind: training\njob: {name: a}\n", "nul": "kind: \0\n",
                 "bad name": GOOD % "Not_A_Name", "long name": GOOD % ("a" * 64),
                 "negative": (GOOD % "neg").replace("gpu: 1", "gpu: -1"),
                 "overflow": (GOOD % "much").replace("memory: 1Gi", "memory: 999999999999Gi"),
                 "priority": (GOOD % "prio").replace("{name: prio}", "{name: prio, priority: urgent}")}
        for name, text in cases.items():
            with self.subTest(name):
                status, answer = self.daemon.rest("POST", "/api/v1/jobs", text.encode())
                self.assertEqual(status, 400, answer)
                self.assertTrue(answer["error"], answer)
        for name, text in {"half": '{"kind": ', "twice": '{"kind":"training","kind":"training"}', "deep": "[" * 5000,
                           "latin-1": b'{"kind": "\xe9"}'}.items():
            with self.subTest(f"json {name}"):
                data = text if isinstance(text, bytes) else text.encode()
                status, answer = self.daemon.rest("POST", "/api/v1/jobs", data, content_type="application/json")
                self.assertEqual(status, 400, answer)

    def test_the_same_name_from_many_at_once_is_accepted_once(self):
        answers = []
        in_threads([lambda: answers.append(self.daemon.rest("POST", "/api/v1/jobs", GOOD % "only-one")[0])] * 16)
        self.assertEqual(sorted(answers), [201] + [409] * 15)

    def test_answers_name_the_request(self):
        answer = self.send("GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").decode()
        self.assertTrue(re.search(r"(?im)^x-request-id: \S+", answer), answer[:300])
        self.assertIn("application/problem+json", answer)


class Credentials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        tokens = cls.daemon.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text("viewer-token-aaaaaaaa viewer eve\nuser-token-bbbbbbbbbb user ursula\nadmin-token-ccccccccc admin adam\n")
        cls.tokens = tokens
        cls.daemon.configuration["server"]["tokensFile"] = str(tokens)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)

    def ask(self, method, path, token=None, body=None):
        return self.daemon.rest(method, path, body, headers={"Authorization": f"Bearer {token}"} if token else {})[0]

    def test_missing_and_wrong_tokens_are_401(self):
        self.assertEqual(self.ask("GET", "/api/v1/jobs"), 401)
        for wrong in ("nonsense", "viewer-token-aaaaaaaX", "x" * 5000):
            self.assertIn(self.ask("GET", "/api/v1/jobs", wrong), (401, 431))
        status = self.daemon.rest("GET", "/api/v1/jobs", headers={"Authorization": "Basic dTpw"})[0]
        self.assertEqual(status, 401)

    def test_a_role_may_do_its_part_and_no_more(self):
        self.assertEqual(self.ask("GET", "/api/v1/jobs", "viewer-token-aaaaaaaa"), 200)
        self.assertEqual(self.ask("POST", "/api/v1/jobs", "viewer-token-aaaaaaaa", GOOD % "a"), 403)
        self.assertEqual(self.ask("POST", "/api/v1/jobs", "user-token-bbbbbbbbbb", GOOD % "b"), 201)

    def test_health_needs_no_token(self):
        for path in ("/health", "/livez", "/readyz"):
            self.assertEqual(self.ask("GET", path), 200)

    def test_the_command_line_sends_its_token_and_says_what_is_wrong(self):
        command = [str(BINARIES / "gpuctl"), "get", "jobs", "--server", f"http://127.0.0.1:{self.daemon.port}"]
        without = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(without.returncode, 5, without.stderr)
        environment = {**os.environ, "GPUCTL_TOKEN": "viewer-token-aaaaaaaa"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_withdrawn_token_stops_working_on_reload(self):
        text = self.tokens.read_text()
        self.tokens.write_text(text.replace("admin-token-ccccccccc", "fresh-token-ddddddddd"))
        self.daemon.process.send(1)
        wait_for(lambda: self.ask("GET", "/api/v1/jobs", "admin-token-ccccccccc") == 401, 10, "the old token is refused")
        self.assertEqual(self.ask("GET", "/api/v1/jobs", "fresh-token-ddddddddd"), 200)

    def test_a_token_file_readable_by_other_users_is_refused(self):
        daemon = Daemon()
        tokens = daemon.folder / "tokens"
        tokens.write_text("viewer-token-aaaaaaaa viewer eve\n")
        tokens.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IROTH)
        daemon.configuration["server"]["tokensFile"] = str(tokens)
        daemon.start(wait=False)
        self.addCleanup(daemon.stop)
        self.assertNotEqual(daemon.process.wait(15), 0)
        self.assertIn("tokens", daemon.process.log())


class JsonShape(unittest.TestCase):
    def test_problem_details_have_the_agreed_fields(self):
        with Daemon() as daemon:
            body = daemon.rest("GET", "/api/v1/jobs/none")[1]
            self.assertEqual(body["error"], "JobNotFound")
            self.assertEqual(body["status"], 404)
            for field in ("type", "title", "detail", "message"):
                self.assertIn(field, body, json.dumps(body))


if __name__ == "__main__":
    unittest.main()
