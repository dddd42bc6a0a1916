"""What Debian's Prometheus makes of /metrics: a real scrape, read back through its query API."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

from support import Daemon, Process, RUNNING_S, free_port, wait_for

JOB = """kind: training
job: {name: measured}
environment: {image: example/train}
resources: {pool: training-pool, gpu: 2, cpu: 1, memory: 1Gi}
"""


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.stop)
        assert cls.daemon.rest("POST", "/api/v1/jobs", JOB)[0] == 201
        wait_for(lambda: cls.daemon.job("measured", "default").get("status") == "Running", RUNNING_S, "the job runs")

    def test_promtool_reports_no_problem(self):
        text = self.daemon.rest("GET", "/metrics")[1]
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_no_label_names_a_job_pod_node_or_user(self):
        text = self.daemon.rest("GET", "/metrics")[1]
        for line in text.splitlines():
            if line.startswith("gpuctld_") and "{" in line:
                for label in ("job=", "pod=", "node=", "user="):
                    self.assertNotIn(label, line.replace("quantile=", ""), line)

    def test_prometheus_scrapes_it_and_gives_the_values_back(self):
        folder = tempfile.mkdtemp(prefix="gpuctl-prometheus-")
        self.addCleanup(shutil.rmtree, folder, True)
        port = free_port()
        with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write(json.dumps({
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                "scrape_configs": [{"job_name": "gpuctld", "static_configs": [{"targets": [f"127.0.0.1:{self.daemon.port}"]}]}]}))
        prometheus = Process("prometheus", [
            "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], f"{folder}/log")
        self.addCleanup(prometheus.stop)

        def query(expression):
            try:
                with urllib.request.urlopen(
                        f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(expression)}", timeout=5) as answer:
                    return [(entry["metric"], float(entry["value"][1])) for entry in json.load(answer)["data"]["result"]]
            except OSError:
                return []

        wait_for(lambda: any(value == 1 for _, value in query("up")), 40, lambda: f"up; {prometheus.log()[-500:]}", every_s=0.3)
        text = self.daemon.rest("GET", "/metrics")[1]
        samples = {re.split(r"[ {]", line)[0] for line in text.splitlines() if line and not line.startswith("#")}
        self.assertGreater(len(samples), 30)
        stored = {metric["__name__"] for metric, _ in query('{__name__=~".+"}')}
        self.assertEqual(samples - stored, set(), "every sample arrives under its name")
        used = {metric["pool"]: value for metric, value in query('gpuctld_pool_gpus{state="used"}')}
        self.assertEqual(used["training-pool"], 2, f"GPUs in use per pool: {used}")
        total = {metric["pool"]: value for metric, value in query('gpuctld_pool_gpus{state="total"}')}
        self.assertEqual(total["training-pool"], 32)
        held = query('compute_pool_usage{resource_type="gpu",tenant_id="default"}')
        self.assertEqual([value for _, value in held], [2])
        wait_for(lambda: query("histogram_quantile(0.5, sum by (le) (gpuctld_queue_wait_duration_seconds_bucket))"), 10,
                 "a quantile out of a histogram")


if __name__ == "__main__":
    unittest.main()
