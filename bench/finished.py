"""tools/bench-finished: what finished jobs cost an embedded gpuctld in memory, in a snapshot, and to list."""

import argparse
import http.client
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests" / "testbed")]

from processes import Process, free_port, wait_for  # noqa: E402

BEGIN, END = "<!-- bench-finished begin -->", "<!-- bench-finished end -->"
NODES, GPUS = 50, 400
BYTES_MAX = 1_000  # of a finished job, in memory and in a snapshot
JOB = json.dumps({
    "kind": "training", "version": "v0.1",
    "job": {"name": "NAME", "priority": "medium", "description": "one of many"},
    "environment": {"image": "registry.example.com/train:v1", "command": ["python", "train.py", "--epochs", "3"],
                    "env": [{"name": "DATA", "value": "/datasets/one-of-many"}]},
    "resources": {"pool": "default", "gpu": 1, "cpu": 1, "memory": "1Gi"}})


class Daemon:
    def __init__(self, binaries, folder, policy):
        self.cli, self.port = binaries / "gpuctl", free_port()
        configuration = {
            "server": {"port": self.port}, "policy": policy,
            # What a snapshot needs while it is written stays with the process; none is written here.
            "journal": {"directory": str(folder / "journal")},
            "expert": {"journal": {"snapshotEveryInputs": 10_000_000}},
            "cluster": {"mode": "embedded", "embedded": {
                "imagePull": "1ms", "containerStart": "1ms", "trainingRunTime": "1s",
                "nodes": [{"name": "node", "count": NODES, "pool": "default", "gpus": GPUS // NODES, "cpuCores": 128, "memoryGib": 1024,
                           "gpuResource": "nvidia.com/gpu", "gpuModel": "A100"}]}}}
        (folder / "gpuctld.yaml").write_text(json.dumps(configuration))
        self.process = Process("gpuctld", [str(binaries / "gpuctld"), "--config", str(folder / "gpuctld.yaml")],
                               folder / "gpuctld.log")
        self.connection = None
        wait_for(self.is_ready, 30, "gpuctld is ready")

    def request(self, method, path, body=None):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            self.connection = None
            return False

    def submit(self, name):
        status, body = self.request("POST", "/api/v1/jobs", JOB.replace("NAME", name))
        if status != 201:
            raise SystemExit(f"bench-finished: submit {name}: {status} {body.decode()}")

    def is_quiet(self):
        queues = json.loads(self.request("GET", "/api/v1/queues")[1])["items"]
        return not any(queue["jobsWaiting"] + queue["jobsRunning"] for queue in queues)

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024

    def listing(self):
        began = time.monotonic()
        done = subprocess.run([self.cli, "--server", f"http://127.0.0.1:{self.port}", "get", "jobs", "-A"],
                              capture_output=True, text=True, check=True)
        return time.monotonic() - began, done.stdout.count("\n") - 1


def fill(options, at_each):
    """Runs a daemon through these numbers of jobs, one size after the other; `at_each(daemon, jobs)` when all of them have finished."""
    with tempfile.TemporaryDirectory(prefix="bench-finished-") as name:
        policy = {} if options.no_policy else {"finishedJobsMaximum": max(options.jobs) + 1}
        daemon = Daemon(pathlib.Path(options.binaries), pathlib.Path(name), policy)
        try:
            at_each(daemon, 0)
            submitted = 0
            for jobs in options.jobs:
                while submitted < jobs:  # no more at once than there are GPUs: jobs that wait would be weighed, too
                    for _ in range(min(jobs - submitted, GPUS)):
                        daemon.submit(f"job-{submitted}")
                        submitted += 1
                    wait_for(daemon.is_quiet, 300, "all have finished", every_s=0.1)
                at_each(daemon, jobs)
        finally:
            daemon.process.stop()


def measure(options):
    """Bytes and times from two daemons: what a long answer needs while it is made stays with the process."""
    rows = {jobs: {"jobs": jobs} for jobs in options.jobs}

    def note_growth(points, jobs, what, name):
        points.append((jobs, what))
        if jobs:
            (jobs_before, before), (_, now) = points[-2:]
            rows[jobs][name] = (now - before) / (jobs - jobs_before)

    weights, images = [], []

    def weigh(daemon, jobs):
        note_growth(weights, jobs, daemon.resident(), "bytes_memory")
        if jobs:
            rows[jobs]["resident"] = daemon.resident()

    def time_list(daemon, jobs):
        note_growth(images, jobs, len(daemon.request("GET", "/debug/snapshot")[1]), "bytes_image")
        if jobs:
            rows[jobs]["seconds"], rows[jobs]["listed"] = daemon.listing()

    fill(options, weigh)
    fill(options, time_list)
    return list(rows.values())


def table(rows):
    commit = subprocess.run(["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    lines = [f"Made by `./tools/bench-finished` at commit {commit} on {os.cpu_count()} cores, {platform.system()} "
             f"{platform.release()}: an embedded gpuctld with 400 GPUs that runs one-pod jobs of a second; the newest 200 "
             "finished ones in full, the others as a summary. Bytes are the growth since the row before.", "",
             "| finished jobs | `gpuctl get jobs -A` | memory a job | snapshot a job | resident |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        lines.append(f"| {row['jobs']:,} | {row['seconds']:.2f} s | {row['bytes_memory']:,.0f} B | {row['bytes_image']:,.0f} B | "
                     f"{row['resident'] / 2**20:,.0f} MiB |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1_500, 6_000, 12_000])
    parser.add_argument("--binaries", default=str(REPOSITORY / "build" / "release"), help="a folder with gpuctld and gpuctl")
    parser.add_argument("--no-policy", action="store_true", help="for a gpuctld that knows no keys for finished jobs")
    parser.add_argument("--no-table", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    rows = measure(options)
    lines = table(rows)
    print("\n".join(lines))
    if not options.no_table:
        page = REPOSITORY / "docs" / "performance.md"
        head, rest = page.read_text().split(BEGIN)
        page.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1])
    last = rows[-1]
    wrong = [what for what in ("bytes_memory", "bytes_image") if last[what] > BYTES_MAX]
    if wrong:
        raise SystemExit(f"bench-finished: {', '.join(wrong)} beyond {BYTES_MAX}")


if __name__ == "__main__":
    main()
