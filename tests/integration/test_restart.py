"""A single gpuctld that is started again, at the default timings of the lease: it binds within two seconds when the one
before gave the lease back or is provably dead, and otherwise waits as long as that one may be writing."""

import os
import shutil
import signal
import sys
import time
import unittest

from support import (BINARIES, BOUND_S, DEFAULT_LEASE, Daemon, Process, WebSocket, create_pod, delete_namespace_pods, node_of,
                     pod, shared_testbed, unique, wait_for)
from processes import PATIENCE  # after support, which sets the path to it

HOLDERS = "gpuctl-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{HOLDERS}/leases/gpuctld"
AT_ONCE_S = 2
# Its command runs as process 1 of its own pid namespace, as in a container.
IN_CONTAINER = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
user = 0 if os.geteuid() == 0 else 0x10000000
assert libc.unshare(0x20000000 | 0x00020000 | user) == 0
child = os.fork()
if child == 0:
    libc.mount(None, b"/", None, 0x44000, None)
    libc.mount(b"proc", b"/proc", b"proc", 0, None)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
status = os.waitpid(child, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
"""


class InPod(Daemon):
    """gpuctld as deploy.yaml starts it: it knows which pod it is."""

    def __init__(self, bed, pod_object, folder):
        metadata = pod_object["metadata"]
        own = {"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"], "container": "main"}
        super().__init__({"cluster": {"kubernetes": {"lease": DEFAULT_LEASE, "bindTimeout": "5s", "pod": own}}}, bed=bed,
                         folder=folder)

    def start(self, wait=True, environment=None):
        self.process = Process("gpuctld", [sys.executable, "-c", IN_CONTAINER, BINARIES / "gpuctld", "--config",
                                           self.write_configuration()], self.folder / "gpuctld.log")
        if wait:
            self.wait_ready()
        return self


class Restart(unittest.TestCase):
    def setUp(self):
        self.bed = shared_testbed()
        self.namespace = self.bed.create_namespace(unique("restart"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)
        self.bed.api("DELETE", LEASE)

    def holder_pod(self, name):
        """A pod object of gpuctld's namespace, running on a node."""
        body = pod(name, gpus=0, scheduler="default-scheduler", nodeName="training-0")
        made = create_pod(self.bed, HOLDERS, body, role="admin")
        self.addCleanup(self.remove_holder, name)
        return made

    def remove_holder(self, name):
        path = f"/api/v1/namespaces/{HOLDERS}/pods/{name}"
        self.bed.api("DELETE", path + "?gracePeriodSeconds=0")
        wait_for(lambda: self.bed.api("GET", path)[0] == 404, BOUND_S, f"{name} is gone")

    def start(self, pod_object, folder=None, wait=True):
        made = InPod(self.bed, pod_object, folder)
        made._temporary = False  # the next one finds its journal
        made.start(wait=wait)
        self.addCleanup(shutil.rmtree, made.folder, True)
        self.addCleanup(made.process.stop, 25)
        return made

    def bind_one(self):
        name = unique("pod")
        create_pod(self.bed, self.namespace, pod(name, gpus=0))
        wait_for(lambda: node_of(self.bed, self.namespace, name), BOUND_S, f"{name} bound")

    def seconds_until_bound(self, start):
        """From the start of a process to the binding of a pod that waited for it."""
        name = unique("waits")
        create_pod(self.bed, self.namespace, pod(name, gpus=0))
        began = time.monotonic()
        daemon = start()
        wait_for(lambda: node_of(self.bed, self.namespace, name), 40,
                 lambda: f"{name} bound; {daemon.process.log()[-2000:]}", every_s=0.01)
        return time.monotonic() - began

    def lease(self):
        return self.bed.get(LEASE)["spec"]

    def kill(self, daemon):
        """The process in the container, as a lack of memory does; the launcher ends with it."""
        children = [int(word) for word in
                    open(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children", encoding="ascii").read().split()]
        os.kill(children[0], signal.SIGKILL)
        self.assertEqual(daemon.process.wait(10), 128 + 9)

    def test_after_a_stop_the_next_one_binds_within_two_seconds(self):
        first = self.start(self.holder_pod("stopped"))
        self.bind_one()
        epoch = self.lease()["leaseTransitions"]
        first.process.send(signal.SIGTERM)
        self.assertEqual(first.process.wait(25), 0)
        self.assertFalse(self.lease().get("holderIdentity"), "given back")
        self.remove_holder("stopped")
        another = self.holder_pod("stopped")
        self.assertLess(self.seconds_until_bound(lambda: self.start(another, first.folder, wait=False)), AT_ONCE_S * PATIENCE)
        self.assertEqual(self.lease()["leaseTransitions"], epoch + 1)
        self.assertIn(another["metadata"]["uid"], self.lease()["holderIdentity"])

    def test_a_follower_of_logs_that_does_not_read_does_not_keep_the_lease(self):
        daemon = Daemon({"cluster": {"kubernetes": {"lease": DEFAULT_LEASE, "bindTimeout": "5s"}}}, bed=self.bed).start()
        self.addCleanup(daemon.stop)
        namespace = "logs-d"  # whose log is no other test's
        self.bed.create_namespace(namespace)
        self.addCleanup(delete_namespace_pods, self.bed, namespace)
        create_pod(self.bed, namespace, pod("talks", gpus=0))
        path = f"/api/v1/namespaces/{namespace}/pods/talks"
        wait_for(lambda: self.bed.get(path)["status"].get("phase") == "Running", BOUND_S, "it runs")
        with open(self.bed.log_file(namespace), "a", encoding="ascii") as log:
            log.writelines(f"2026-01-01T00:01:00.{index:09d}Z stdout F {'x' * 1000}\n" for index in range(10_000))
        reader = WebSocket(daemon.port, f"/api/v1/jobs/talks/logs/ws?namespace={namespace}", receive_buffer=4096)
        self.addCleanup(reader.close)
        wait_for(lambda: "gpuctld_log_lines_total 10000" in daemon.rest("GET", "/metrics")[1], BOUND_S,
                 "10 MB are there, which no socket takes without a reader")
        daemon.process.send(signal.SIGTERM)
        wait_for(lambda: not self.lease().get("holderIdentity"), 1, "the lease is given back", every_s=0.02)

    def test_after_a_crash_the_pod_that_replaces_it_binds_within_two_seconds(self):
        first = self.start(self.holder_pod("replaced"))
        self.bind_one()
        epoch = self.lease()["leaseTransitions"]
        self.kill(first)
        self.remove_holder("replaced")
        another = self.holder_pod("replaced")
        self.assertLess(self.seconds_until_bound(lambda: self.start(another, first.folder, wait=False)), AT_ONCE_S * PATIENCE)
        self.assertEqual(self.lease()["leaseTransitions"], epoch + 1)

    def test_after_a_crash_the_container_that_is_started_again_binds_within_two_seconds(self):
        same = self.holder_pod("restarted")
        first = self.start(same)
        self.bind_one()
        epoch = self.lease()["leaseTransitions"]
        self.kill(first)
        self.assertLess(self.seconds_until_bound(lambda: self.start(same, first.folder, wait=False)), AT_ONCE_S * PATIENCE)
        self.assertEqual(self.lease()["leaseTransitions"], epoch + 1)

    def test_after_a_crash_another_pod_waits_while_the_first_one_exists(self):
        first = self.start(self.holder_pod("still-there"))
        self.bind_one()
        self.kill(first)
        renewed = time.monotonic()
        other = self.holder_pod("other")
        second = self.start(other, first.folder, wait=False)
        name = unique("waits")
        create_pod(self.bed, self.namespace, pod(name, gpus=0))
        while time.monotonic() - renewed < 12:  # its last renewal was two seconds before, at most
            self.assertIsNone(node_of(self.bed, self.namespace, name))
            self.assertNotIn(other["metadata"]["uid"], self.lease()["holderIdentity"])
            time.sleep(0.5)
        wait_for(lambda: node_of(self.bed, self.namespace, name), 30, lambda: f"bound in the end; {second.process.log()[-2000:]}")
        self.assertIn(other["metadata"]["uid"], self.lease()["holderIdentity"])

    def test_a_standby_takes_over_when_the_pod_of_a_dead_leader_is_removed(self):
        first = self.start(self.holder_pod("leader"))
        self.bind_one()
        standby = self.holder_pod("standby")
        second = self.start(standby, wait=False)
        self.kill(first)
        self.remove_holder("leader")
        began = time.monotonic()
        wait_for(lambda: standby["metadata"]["uid"] in (self.lease().get("holderIdentity") or ""), 12,
                 lambda: f"the standby leads; {second.process.log()[-2000:]}")
        self.assertLess(time.monotonic() - began, 6 * PATIENCE, "it looks every 2 to 4.4 s")
        self.bind_one()

    def test_a_leader_whose_pod_was_deleted_by_force_steps_down_with_its_next_renewal(self):
        first = self.start(self.holder_pod("forced"))
        self.bind_one()
        epoch = self.lease()["leaseTransitions"]
        self.remove_holder("forced")
        another = self.holder_pod("forced")
        second = self.start(another, wait=False)
        wait_for(lambda: another["metadata"]["uid"] in self.lease()["holderIdentity"], 12, "the other leads")
        wait_for(lambda: "following" in str(first.readiness()), 8, lambda: f"the first steps down: {first.readiness()}")
        self.bind_one()
        self.assertEqual(self.lease()["leaseTransitions"], epoch + 1)
        self.assertTrue(second.process.alive)


if __name__ == "__main__":
    unittest.main()
