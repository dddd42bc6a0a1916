"""Log tailing from the kubelet's log endpoint through the API server, and with fifty readers."""

import datetime
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
import unittest

from support import (BINARIES, RUNNING_S, Daemon, Testbed, WebSocket, create_pod, delete_namespace_pods, in_threads, pod, wait_for)

READERS = 50
LINES = 6000


def cri_line(text, tag="F"):
    """A record as container runtimes write it: F ends a line, P is a piece of one."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
    return f"{now} stdout {tag} {text}\n"


class Logs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(controllers=False).start()  # of its own: its fake kubelet is restarted here
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.create_node("logs-node", gpus=0)
        for namespace in ("logs-a", "logs-b", "logs-c", "logs-d"):
            cls.bed.create_namespace(namespace)
        wait_for(lambda: any(c["type"] == "Ready" and c["status"] == "True" for c in cls.bed.get(
            "/api/v1/nodes/logs-node")["status"].get("conditions", [])), 30, "the node is Ready")
        cls.bed.api("PATCH", "/api/v1/nodes/logs-node", {"spec": {"taints": None}}, expect=(200,))
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def run_pod(self, namespace, name="speaker", containers=()):
        body = pod(name, gpus=0)
        body["spec"]["containers"] += [{"name": one, "image": f"example/{one}"} for one in containers]
        create_pod(self.bed, namespace, body, role="admin")
        self.addCleanup(delete_namespace_pods, self.bed, namespace)
        wait_for(lambda: self.bed.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"].get("phase") == "Running",
                 RUNNING_S, f"{name} runs")
        wait_for(lambda: self.daemon.job(name, namespace).get("status") == "Running", RUNNING_S, "the daemon knows")

    def write(self, namespace, lines, pause_s=0.0, batch=50):
        file = self.bed.log_file(namespace)
        for start in range(0, len(lines), batch):
            with open(file, "a", encoding="utf-8") as log:
                log.write("".join(cri_line(text) for text in lines[start:start + batch]))
            if pause_s:
                time.sleep(pause_s)

    def path(self, namespace, name="speaker", **query):
        words = "&".join(f"{key}={value}" for key, value in {"namespace": namespace, **query}.items())
        return f"/api/v1/jobs/{name}/logs/ws?{words}"

    def read_until(self, socket, last, lines, seconds=60):
        """Collects log lines until `last` came; returns the position after it and what was announced as dropped."""
        dropped, position, end = 0, "", time.monotonic() + seconds
        while time.monotonic() < end:
            frame = socket.read_frame(timeout=seconds)
            if frame is None:
                return position, dropped
            if frame["type"] == "dropped":
                dropped += frame["count"]
            elif frame["type"] == "log":
                lines.append(frame["data"])
                position = frame["position"]
                if frame["data"] == last:
                    return position, dropped
            elif frame["type"] in ("gap", "error"):
                raise AssertionError(f"{frame}")
        raise AssertionError(f"{last!r} did not come within {seconds} s; {len(lines)} lines, the last {lines[-1:]}")

    def test_a_followed_log_shows_each_line_once_and_at_once(self):
        self.run_pod("logs-a")
        self.write("logs-a", ["first"])
        socket = WebSocket(self.daemon.port, self.path("logs-a"))
        lines = []
        self.read_until(socket, "first", lines)
        for number in range(5):
            self.write("logs-a", [f"later {number}"])
            self.read_until(socket, f"later {number}", lines, seconds=10)
        self.assertEqual(lines, ["first", *[f"later {number}" for number in range(5)]])
        socket.close()
        once = self.daemon.get("/api/v1/jobs/speaker/logs?namespace=logs-a&tail=3")
        self.assertEqual(once["logs"], ["later 2", "later 3", "later 4"])

    def write_piece(self, namespace, text, tag="P"):
        with open(self.bed.log_file(namespace), "a", encoding="utf-8", newline="") as log:
            log.write(cri_line(text, tag))

    def read_partial(self, socket, text, lines, seconds=20):
        """Reads until the unfinished line is `text`; whole lines before it are collected."""
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            frame = socket.read_frame(timeout=seconds)
            self.assertIn(frame["type"], ("log", "partial"), frame)
            if frame["type"] == "log":
                lines.append(frame["data"])
                continue
            self.assertNotIn("position", frame, "an unfinished line is no place to resume from")
            last = frame["data"]
            if last == text:
                return frame
        raise AssertionError(f"the unfinished line did not become {text!r} but {last!r}; lines {lines}")

    def test_a_bar_is_shown_while_it_is_drawn_and_is_one_line_at_its_end(self):
        self.run_pod("logs-d")
        self.write("logs-d", ["before"])
        lines, socket = [], WebSocket(self.daemon.port, self.path("logs-d"))
        position, _ = self.read_until(socket, "before", lines)
        self.write_piece("logs-d", "  0%|     |")
        self.assertFalse(self.read_partial(socket, "  0%|     |", lines)["redrawn"])
        for percent in (20, 40, 60):
            self.write_piece("logs-d", f"\r {percent}%|#    |")
            self.assertTrue(self.read_partial(socket, f" {percent}%|#    |", lines)["redrawn"])
        # A reader that resumes now gets the current state of the bar, and so does a single read.
        second = WebSocket(self.daemon.port, self.path("logs-d", since=position))
        self.read_partial(second, " 60%|#    |", [])
        second.close()
        once = self.daemon.gpuctl("logs", "speaker", namespace="logs-d").stdout
        self.assertEqual(once.splitlines()[-1], " 60%|#    |")
        # The upstream is cut in the middle of the line, and again after it: the first bytes that
        # the kubelet sends from the second of the next line are the end of this line, without a
        # time.
        self.restart_kubelet()
        self.write_piece("logs-d", "\r 80%|#### |")
        self.read_partial(socket, " 80%|#### |", lines, seconds=60)
        wait_for(lambda: time.time() % 1 < 0.5, 5, "the beginning of a second")
        self.write_piece("logs-d", "\r 90%|#### |")
        self.write_piece("logs-d", "\r100%|#####|", tag="F")
        self.write("logs-d", ["after"])
        self.read_until(socket, "after", lines)
        self.restart_kubelet()
        self.write("logs-d", ["last"])
        self.read_until(socket, "last", lines, seconds=60)
        socket.close()
        bar = "  0%|     |\r 20%|#    |\r 40%|#    |\r 60%|#    |\r 80%|#### |\r 90%|#### |\r100%|#####|"
        self.assertEqual(lines, ["before", bar, "after", "last"])
        third, resumed = [], WebSocket(self.daemon.port, self.path("logs-d", since=position))
        self.read_until(resumed, "last", third)
        resumed.close()
        self.assertEqual(third, [bar, "after", "last"])

    def restart_kubelet(self):
        self.bed.processes.pop("kwok").kill()
        self.bed.start_kwok_again()

    def test_plain_http_follow_points_to_the_websocket(self):
        self.run_pod("logs-c")
        status, body = self.daemon.rest("GET", "/api/v1/jobs/speaker/logs?namespace=logs-c&follow=true")
        self.assertEqual((status, body["error"]), (400, "UseWebSocket"))

    def test_fifty_readers_get_every_line_by_number(self):
        self.run_pod("logs-b")
        wanted = [f"{number:06d} " + "x" * (number % 97) for number in range(LINES)]
        last = wanted[-1]
        stop_stalling = threading.Event()
        upstream_cut = threading.Event()

        def ordinary():
            lines = []
            socket = WebSocket(self.daemon.port, self.path("logs-b", tail=10000))
            _, dropped = self.read_until(socket, last, lines, seconds=90)
            socket.close()
            self.assertEqual(dropped, 0)
            self.assertEqual(lines, wanted)

        def reconnecting():
            lines, position = [], ""
            for target in (wanted[700], wanted[1500], wanted[1501], wanted[4000], last):
                query = {"since": position} if position else {"tail": 10000}
                socket = WebSocket(self.daemon.port, self.path("logs-b", **query))
                position, dropped = self.read_until(socket, target, lines, seconds=90)
                socket.close()
                self.assertEqual(dropped, 0)
            self.assertEqual(lines, wanted)

        def stalled():
            socket = WebSocket(self.daemon.port, self.path("logs-b", tail=10000), receive_buffer=4096)
            stop_stalling.wait(90)  # reads nothing meanwhile
            lines = []
            try:
                _, dropped = self.read_until(socket, last, lines, seconds=60)
            except OSError:
                return  # dropped as a reader that does not answer: allowed by the API
            finally:
                socket.close()
            numbers = [int(line.split()[0]) for line in lines]
            self.assertEqual(numbers, sorted(set(numbers)), "in order and none twice")
            self.assertEqual(len(numbers) + dropped, LINES, "what it missed was announced")

        def source():
            time.sleep(0.5)
            self.write("logs-b", wanted[:2000], pause_s=0.02)
            self.bed.processes.pop("kwok").kill()  # the upstream is cut ...
            self.bed.start_kwok_again()
            upstream_cut.set()
            self.write("logs-b", wanted[2000:3500], pause_s=0.02)
            time.sleep(1.5)  # the kubelet must have read the old file before it is moved away
            file = self.bed.log_file("logs-b")
            os.rename(file, f"{file}.1")  # ... and the file rotated
            self.write("logs-b", wanted[3500:], pause_s=0.02)
            stop_stalling.set()

        self.write("logs-b", [])
        in_threads([source, stalled, reconnecting, *[ordinary] * (READERS - 2)])
        self.assertTrue(upstream_cut.is_set())
        metrics = self.daemon.rest("GET", "/metrics")[1]
        self.assertIn("gpuctld_log", metrics)


    def test_of_a_pod_with_several_containers_the_first_or_the_named_one_is_followed(self):
        self.run_pod("logs-c", "twins", containers=("mesh",))
        self.write("logs-c", ["from the pod"])
        for more in ({}, {"container": "mesh"}):
            lines, socket = [], WebSocket(self.daemon.port, self.path("logs-c", "twins", **more))
            self.read_until(socket, "from the pod", lines, seconds=RUNNING_S)
            socket.close()
            self.assertEqual(lines[-1:], ["from the pod"], more)
        once = self.daemon.gpuctl("logs", "twins", "-c", "mesh", namespace="logs-c")
        self.assertIn("from the pod", once.stdout)
        for follow in ((), ("-f",)):
            wrong = self.daemon.gpuctl("logs", "twins", "-c", "unknown", *follow, namespace="logs-c", check=False)
            self.assertNotEqual(wrong.returncode, 0)
            self.assertIn("it has no container unknown, only main mesh", wrong.stderr)


class ProgressBars(unittest.TestCase):
    """On the embedded cluster, whose containers draw one when they are asked to; through the command line."""

    BAR = ("kind: training\njob: {name: bar}\n"
           "environment: {image: a, env: {GPUCTL_SIM_PROGRESS_BAR: 4s, GPUCTL_SIM_LOG_INTERVAL: 50ms, GPUCTL_SIM_RUN_TIME: 5s}}\n"
           "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n")

    def start(self, daemon):
        status, body = daemon.rest("POST", "/api/v1/jobs", self.BAR)
        self.assertEqual(status, 201, body)
        wait_for(lambda: daemon.job("bar", "default").get("status") == "Running", RUNNING_S, "the job runs")
        return [str(BINARIES / "gpuctl"), "logs", "-f", "bar", "--server", f"http://127.0.0.1:{daemon.port}"]

    @staticmethod
    def screen(output):
        """What a terminal shows in the end; every line begins with a whole redraw."""
        lines = output.split("\n")
        return [line[line.rfind("\r\x1b[K") + 4:].rstrip("\r") if "\r\x1b[K" in line else line.rstrip("\r") for line in lines]

    def test_a_terminal_shows_a_bar_as_it_is_drawn_and_keeps_one_line_of_it(self):
        with Daemon() as daemon:
            command = self.start(daemon)
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                                       env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "TERM": "xterm"})
            os.close(theirs)
            output = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                output += piece
            os.close(ours)
            self.assertEqual(process.wait(30), 0)
        text = output.decode()
        drawn = [one.split("\n")[0].rstrip("\r") for one in text.split("\r\x1b[K")[1:]]
        states = [one for one in drawn if "%|" in one]
        self.assertGreater(len(states), 4, text)
        for state in states[:-1]:
            self.assertLess(len(state), 30, "on a terminal of thirty columns it stays in one line")
        shown = self.screen(text)
        bars = [line for line in shown if "%|" in line]
        self.assertEqual(len(bars), 1, shown)
        self.assertTrue(bars[0].endswith("80/80"), bars)
        self.assertTrue(any("step 1/" in line for line in shown), shown)

    def test_a_pipe_gets_a_line_of_the_bar_each_second_and_none_with_a_carriage_return(self):
        with Daemon() as daemon:
            done = subprocess.run(self.start(daemon), capture_output=True, text=True, check=True, timeout=60,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "GPUCTL_CONFIG": "/dev/null", "TERM": "xterm"})
            as_json = daemon.gpuctl("logs", "-f", "bar", "--json").stdout
        self.assertNotIn("\r", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        bars = [line for line in done.stdout.splitlines() if "%|" in line]
        self.assertGreaterEqual(len(bars), 2, done.stdout)
        self.assertLessEqual(len(bars), 6, done.stdout)
        self.assertTrue(bars[-1].endswith("80/80"), bars)
        self.assertEqual(as_json.count('"type":"log"'), len(as_json.splitlines()), "whole lines alone")


class LogEnds(unittest.TestCase):
    """On the embedded cluster: the fake kubelet of the testbed never ends a followed log, a real one does."""

    def test_a_log_that_ends_says_so(self):
        with Daemon() as daemon:
            status, body = daemon.rest("POST", "/api/v1/jobs", (
                "kind: training\njob: {name: brief, expectedRunTime: 2s}\nenvironment: {image: a}\n"
                "resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n"))
            self.assertEqual(status, 201, body)
            socket = WebSocket(daemon.port, "/api/v1/jobs/brief/logs/ws?namespace=default")
            kinds = []
            end = time.monotonic() + RUNNING_S
            while time.monotonic() < end and (frame := socket.read_frame(timeout=RUNNING_S)) is not None:
                kinds.append(frame["type"])
            socket.close()
            self.assertEqual(kinds[-1:], ["end"])
            self.assertIn("log", kinds)


if __name__ == "__main__":
    unittest.main()
