"""A proxy before the API server that does to requests what networks, load balancers and busy servers do.

    proxy = FaultProxy(bed, seed=7).start()
    Daemon({"cluster": {"kubernetes": {"kubeconfig": str(proxy.kubeconfig("gpuctld"))}}}, bed=bed)
    ...
    proxy.calm()         # from now on it only passes on
    proxy.fired          # kind of fault -> how often

Plain HTTP on loopback on this side, HTTPS to the real API server on the other; the caller's token passes
through. Which request meets which fault comes from the seed: three shuffled decks (reads, writes, watches), so
that each kind comes up about equally often. Threads draw from them, so a seed repeats the mixture, not the
order to the last request.
"""

import collections
import http.client
import http.server
import json
import random
import socket
import ssl
import threading
import time

# What the real API server has already done when the caller sees the fault, in the kinds of `AFTER`; in all others
# but the slow ones it has never heard of the request.
READ = ("throttled", "error_500", "error_503", "not_json", "html", "truncated_json", "cut_before", "cut_after", "slow",
        "trickled")
WRITE = (*READ, "conflict")
AFTER = ("truncated_json", "cut_after")
WATCH = ("throttled", "error_500", "error_503", "not_json", "html", "gone", "gone_event", "cut_before", "cut_in_event",
         "slow", "trickled")
KINDS = frozenset(f"{what}:{kind}" for what, kinds in (("read", READ), ("write", WRITE), ("watch", WATCH)) for kind in kinds)

SLOW_S = (0.3, 2.5)  # around the second that the tests give a bind
WATCH_LIFE_S = (1.0, 4.0)  # while faults are on: a watch that lives for minutes would meet one fault a run
TRICKLED_BYTES_MAX, TRICKLE_PAUSE_S = 400, 0.001
HOP_BY_HOP = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding")
GARBAGE = b"upstream connect error or disconnect/reset before headers\n"
HALF_EVENT = b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"half'
HTML = b"<!DOCTYPE html><html><body><h1>Sign in to continue</h1></body></html>\n"
REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}


def status_body(code):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
            "reason": REASONS[code], "message": f"injected: {REASONS[code]}"}


class _Cut(Exception):
    """The connection to the caller ends here, in the middle of whatever it was."""


class FaultProxy:
    def __init__(self, bed, seed, rate=0.25, watch_rate=0.5):
        self.bed, self.seed, self.rate, self.watch_rate = bed, seed, rate, watch_rate
        self.fired = collections.Counter()
        self.passed = 0
        self._raging = True
        self._lock = threading.Lock()
        self._chance = random.Random(seed)
        self._decks = {"read": [], "write": [], "watch": []}
        self._context = ssl.create_default_context(cafile=bed.folder / "pki" / "ca.crt")
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def calm(self):
        self._raging = False

    def rage(self):
        self._raging = True

    @property
    def raging(self):
        return self._raging

    def kubeconfig(self, role):
        """A kubeconfig with that role's token and this proxy as the server."""
        text = json.loads(self.bed.kubeconfig(role).read_text())
        for cluster in text["clusters"]:
            cluster["cluster"] = {"server": self.url}
        file = self.bed.folder / "kubeconfig" / f"{role}-{self.url.rpartition(':')[2]}.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(text, indent=1))
        return file

    def draw(self, what):
        """The fault of the next request of that kind; None: it goes through unharmed."""
        with self._lock:
            if not self._raging or self._chance.random() >= (self.watch_rate if what == "watch" else self.rate):
                return None
            deck = self._decks[what]
            if not deck:
                deck.extend({"read": READ, "write": WRITE, "watch": WATCH}[what])
                self._chance.shuffle(deck)
            return deck.pop()

    def between(self, bounds):
        with self._lock:
            return self._chance.uniform(*bounds)

    def count(self, what, kind):
        with self._lock:
            if kind is None:
                self.passed += 1
            else:
                self.fired[f"{what}:{kind}"] += 1

    def upstream(self):
        # One connection a request: a kept one that the server closed would be a fault that was not drawn.
        return http.client.HTTPSConnection("127.0.0.1", self.bed.port, timeout=60, context=self._context)


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # of five, thirty binds at once would be refused without a draw

    def handle_error(self, *_):
        """A caller that hung up is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def proxy(self):
        return self.server.proxy

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._handle()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _handle(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        watch = "watch=1" in self.path or "watch=true" in self.path
        what = "watch" if watch else "read" if self.command == "GET" else "write"
        kind = self.proxy.draw(what)
        try:
            fired = self._watch(kind) if watch else self._once(kind, body)
            self.proxy.count(what, kind if fired else None)
        except _Cut:
            self.proxy.count(what, kind)
            self._hang_up()
        except (OSError, http.client.HTTPException):  # the caller or the API server is gone
            self._hang_up()

    def _hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    # --- a request and its answer ---

    def _once(self, kind, body):
        if self._refused(kind):
            return True
        if kind == "cut_before":
            raise _Cut
        upstream = self.proxy.upstream()
        try:
            upstream.request(self.command, self.path, body or None, self._forwarded())
            answer = upstream.getresponse()
            data = answer.read()
        finally:
            upstream.close()
        if kind == "cut_after":
            raise _Cut
        if kind == "slow":
            time.sleep(self.proxy.between(SLOW_S))
        if kind == "truncated_json":
            data = data[:len(data) // 2]  # with the length to match: only the JSON is torn
        fields = [(name, value) for name, value in answer.getheaders()
                  if name.lower() not in (*HOP_BY_HOP, "date", "server")]
        self._answer(answer.status, data, fields, trickled=kind == "trickled")
        return True

    def _refused(self, kind):
        """Answers in the API server's place, if `kind` is one of those answers."""
        codes = {"throttled": 429, "error_500": 500, "error_503": 503, "conflict": 409, "gone": 410}
        if kind in codes:
            fields = [("Content-Type", "application/json")] + ([("Retry-After", "1")] if kind == "throttled" else [])
            self._answer(codes[kind], json.dumps(status_body(codes[kind])).encode(), fields)
        elif kind == "not_json":
            self._answer(200, GARBAGE, [("Content-Type", "application/json")])
        elif kind == "html":
            self._answer(200, HTML, [("Content-Type", "text/html")])
        else:
            return False
        return True

    def _forwarded(self):
        return {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}

    def _answer(self, status, data, fields, trickled=False):
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}",
                 *[f"{name}: {value}" for name, value in fields], f"Content-Length: {len(data)}", "", ""]
        self._send("\r\n".join(lines).encode() + data, trickled)

    def _send(self, data, trickled=False):
        if trickled:
            for byte in data[:TRICKLED_BYTES_MAX]:
                self.connection.sendall(bytes([byte]))
                time.sleep(TRICKLE_PAUSE_S)
            data = data[TRICKLED_BYTES_MAX:]
        self.connection.sendall(data)

    # --- a watch ---

    def _watch(self, kind):
        """Whether `kind` came to pass: nothing does where the API server itself refuses."""
        if self._refused(kind):
            return True
        if kind == "cut_before":
            raise _Cut
        if kind == "slow":
            time.sleep(self.proxy.between(SLOW_S))
        upstream = self.proxy.upstream()
        try:
            upstream.connect()
            upstream_socket = upstream.sock
            upstream.request(self.command, self.path, headers=self._forwarded())
            answer = upstream.getresponse()
            if answer.status != 200:
                self._answer(answer.status, answer.read(), [("Content-Type", "application/json")])
                return kind == "slow"
            self._send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                       trickled=kind == "trickled")
            self._pass_events(kind, answer, upstream_socket)
        finally:
            upstream.close()
        self._send(b"0\r\n\r\n")
        return kind is not None

    def _pass_events(self, kind, answer, upstream_socket):
        ends = time.monotonic() + self.proxy.between(WATCH_LIFE_S) if self.proxy.raging else None
        while True:
            left = None if ends is None else ends - time.monotonic()
            line = self._next_event(answer, upstream_socket, left)
            if kind == "cut_in_event":
                line = line or HALF_EVENT  # a quiet watch has to do with a made-up one
                self._chunk(line[:max(1, int(len(line) * self.proxy.between((0.05, 0.95))))])
                raise _Cut
            if not line:
                break
            self._chunk(line, trickled=kind == "trickled")
        if kind == "gone_event":
            self._chunk(json.dumps({"type": "ERROR", "object": status_body(410)}, separators=(",", ":")).encode() + b"\n")

    @staticmethod
    def _next_event(answer, upstream_socket, left):
        """The next line; nothing at the end of the stream or of this watch's time."""
        if left is not None and left <= 0:
            return b""
        upstream_socket.settimeout(left)
        try:
            return answer.readline()
        except TimeoutError:
            return b""

    def _chunk(self, data, trickled=False):
        self._send(f"{len(data):x}\r\n".encode() + data + b"\r\n", trickled)
