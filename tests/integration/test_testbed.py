"""The testbed itself and the tools of the README: they do what they document."""

import os
import subprocess
import unittest

from support import REPOSITORY, Testbed, create_pod, free_port, pod, wait_for


def tool(*words, timeout=600, **environment):
    return subprocess.run([str(REPOSITORY / "tools" / words[0]), *words[1:]], capture_output=True, text=True, check=False,
                          timeout=timeout, stdin=subprocess.DEVNULL, env={**os.environ, **environment})


class FakeKubelets(unittest.TestCase):
    """Times and misfortunes that pods ask for by annotation; the other tests rely on them."""

    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(controllers=False, audit=False).start()
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.create_node("node-0", gpus=8)

    def phase(self, name):
        return self.bed.get(f"/api/v1/namespaces/default/pods/{name}")["status"].get("phase")

    def run_pod(self, name, node="node-0", **annotations):
        body = pod(name, annotations={f"testbed.gpuctl.dev/{key.replace('_', '-')}": value for key, value in annotations.items()})
        body["spec"]["nodeName"] = node
        body["spec"]["tolerations"] = [{"operator": "Exists"}]
        create_pod(self.bed, "default", body, role="admin")

    def test_phases(self):
        self.run_pod("plain")
        self.run_pod("brief", run_time="1s")
        self.run_pod("failing", fail_after="1s")
        self.run_pod("late", start_delay="1h")
        self.run_pod("looping", crash_loop="true")
        for name, wanted in (("plain", "Running"), ("brief", "Succeeded"), ("failing", "Failed")):
            wait_for(lambda: self.phase(name) == wanted, 20, lambda: f"{name} {wanted}, is {self.phase(name)}")
        self.assertEqual(self.phase("late"), "Pending")
        status = wait_for(lambda: self.bed.get("/api/v1/namespaces/default/pods/looping")["status"].get("containerStatuses"), 10, "a status")
        self.assertEqual(status[0]["state"]["waiting"]["reason"], "CrashLoopBackOff")

    def test_pods_that_come_with_their_node_run(self):
        names = [f"new-{index}" for index in range(40)]
        for name in names:
            self.bed.create_node(name)
            self.run_pod(name, node=name)

        def waiting():
            return [name for name in names if self.phase(name) != "Running"]

        wait_for(lambda: not waiting(), 60, lambda: f"all run, but {waiting()}", every_s=0.5)

    def test_roles_have_their_documented_rights(self):
        self.assertEqual(self.bed.api("GET", "/api/v1/nodes", as_role="nobody")[0], 403)
        self.assertEqual(self.bed.api("GET", "/api/v1/nodes", as_role="alice")[0], 403)
        self.assertEqual(self.bed.api("GET", "/api/v1/namespaces/default/pods", as_role="alice")[0], 200)
        self.assertEqual(self.bed.api("GET", "/api/v1/nodes", as_role="gpuctld")[0], 200)
        self.assertEqual(self.bed.api("DELETE", "/api/v1/nodes/node-0", as_role="gpuctld")[0], 403)


class Tools(unittest.TestCase):
    def test_set_up_is_quick_when_nothing_is_missing(self):
        done = tool("setup", timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("installing", done.stdout)

    def test_quickstart_goes_to_its_end_and_stops_what_it_started(self):
        port = free_port()
        done = tool("quickstart", "--once", "--port", str(port))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for word in ("Running", "training-pool", "gpuctld_", "gpuctl"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("rror:", done.stdout + done.stderr)
        self.assertRaises(OSError, __import__("socket").create_connection, ("127.0.0.1", port), 1)

    def test_the_bind_bench_works(self):
        done = tool("bench-bind", "--quick")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in ("bare bind probe, 32 in flight", "kube-scheduler", "gpuctld, gangs of 8", "| bar |"):
            self.assertIn(row, done.stdout)

    def test_testbed_by_hand(self):
        cache = self.enterContext(__import__("tempfile").TemporaryDirectory())
        real = os.environ.get("GPUCTL_CACHE") or os.path.expanduser("~/.cache/gpuctl")
        os.makedirs(f"{cache}/gpuctl/testbed")
        for name in os.listdir(f"{real}/testbed"):
            if name != "run":
                os.symlink(f"{real}/testbed/{name}", f"{cache}/gpuctl/testbed/{name}")
        try:
            up = tool("testbed", "up", "--nodes", "2", XDG_CACHE_HOME=cache, GPUCTL_CACHE="")
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn("kubeconfig", up.stdout)
            nodes = tool("testbed", "kubectl", "get", "nodes", XDG_CACHE_HOME=cache, GPUCTL_CACHE="")
            self.assertIn("node-1", nodes.stdout, nodes.stderr)
        finally:
            down = tool("testbed", "down", XDG_CACHE_HOME=cache, GPUCTL_CACHE="")
        self.assertEqual(down.returncode, 0, down.stdout + down.stderr)
        self.assertNotEqual(tool("testbed", "status", XDG_CACHE_HOME=cache, GPUCTL_CACHE="").returncode, 0)


if __name__ == "__main__":
    unittest.main()
