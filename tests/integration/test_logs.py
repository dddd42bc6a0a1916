"""Log tailing from the kubelet's log endpoint through the API server, and with fifty readers (ruling 30)."""

import datetime
import os
import threading
import time
import unittest

from support import (RUNNING_S, Daemon, Testbed, WebSocket, create_pod, delete_namespace_pods, in_threads, pod, wait_for)

READERS = 50
LINES = 6000


def cri_line(text):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
    return f"{now} stdout F {text}\n"


class Logs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(controllers=False).start()  # of its own: its fake kubelet is restarted here
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.create_node("logs-node", gpus=0)
        for namespace in ("logs-a", "logs-b", "logs-c"):
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
                return  # dropped as a reader that does not answer: allowed, said in the contract
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
            wrong = self.daemon.gpuctl("logs", "twins", "-c", "nobody", *follow, namespace="logs-c", check=False)
            self.assertNotEqual(wrong.returncode, 0)
            self.assertIn("it has no container nobody, only main mesh", wrong.stderr)


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
