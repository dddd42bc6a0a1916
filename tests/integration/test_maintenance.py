"""Maintenance windows and unhealthy nodes on a real API server."""

import json
import signal
import time
import unittest

from support import BOUND_S, RUNNING_S, Daemon, bound, shared_testbed, unique, wait_for
from training_jobs import GRACE_S, POOL, TrainingJobs

USER = "system:serviceaccount:gpuctl-system:gpuctld"


def time_text(seconds):
    """This number of seconds from now, as the configuration takes it; and as a number, cut to the same second."""
    at = int(time.time() + seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)), at


class Maintenance(TrainingJobs, unittest.TestCase):
    def setUp(self):
        self.bed = shared_testbed()
        self.daemon = Daemon(bed=self.bed).start()
        self.addCleanup(self.daemon.stop)
        self.namespace = self.bed.create_namespace(unique("maintenance"))
        self.audited = self.bed.audit_size()

    def set_policy(self, **policy):
        self.daemon.configuration["policy"] = policy
        self.daemon.write_configuration()
        self.daemon.process.send(signal.SIGHUP)

    def nodes(self):
        return {node["name"]: node for node in self.daemon.items("/api/v1/nodes?pageSize=100")}

    def evicted(self, before):
        """Of these pods, by uid: those whose eviction the API server accepted from us, by name of the pod."""
        return {event["objectRef"]["name"] for event in self.bed.audit_events(USER, self.audited)
                if (event.get("objectRef") or {}).get("subresource") == "eviction"
                and event["objectRef"]["namespace"] == self.namespace
                and event["responseStatus"]["code"] == 201} & before

    def test_a_window_has_empty_nodes_and_reopens_them(self):
        self.submit("gang", ranks=2, gpus=8, priority="low")
        self.wait_running("gang", 2)
        before = {pod["metadata"]["name"] for pod in self.pods("gang")}
        start, begin = time_text(GRACE_S + 14)
        end, over = time_text(GRACE_S + 32)
        self.set_policy(maintenance=[{"name": "firmware", "pool": POOL, "start": start, "end": end}])

        # Evicted in time for the start of the window, all ranks together.
        wait_for(lambda: self.evicted(before) == before, 20, lambda: f"both are evicted; so far {self.evicted(before)}")
        self.assertLess(time.time(), begin - GRACE_S + 10)
        wait_for(lambda: "it was evicted for maintenance firmware" in self.explanation("gang"), BOUND_S,
                 lambda: self.explanation("gang"))
        wait_for(lambda: not before & {pod["metadata"]["name"] for pod in self.pods("gang")}, begin - time.time() + 1,
                 "the nodes are empty when it begins", every_s=0.2)
        self.assertEqual(self.placed("gang"), {})

        wait_for(lambda: time.time() > begin + 1, GRACE_S + 5, "it begins")
        closed = {name: node for name, node in self.nodes().items() if node["pool"] == POOL}
        self.assertEqual({node["status"] for node in closed.values()}, {"maintaining"}, closed)
        self.assertIn("firmware", self.daemon.gpuctl("get", "nodes").stdout)
        self.assertEqual(self.daemon.get(f"/api/v1/pools/{POOL}")["gpuFree"], 0)
        self.submit("other", ranks=1, gpus=1, priority="high")
        while time.time() < over - 1:  # nothing of any kind starts inside
            self.assertEqual({**self.placed("gang"), **self.placed("other")}, {})
            time.sleep(0.5)
        self.assertIn("maintenance", self.explanation("other"))

        self.wait_placed("other", 1, 10)
        self.daemon.rest("DELETE", f"/api/v1/jobs/other?namespace={self.namespace}")
        self.wait_placed("gang", 2, GRACE_S + BOUND_S)
        answer = self.bed.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        self.assertTrue([event for event in answer if event.get("reason") == "Drained"
                         and "maintenance firmware" in json.dumps(event)], "users get an event")

    def test_an_unhealthy_node_gets_no_pod_and_is_drained_if_configured(self):
        self.submit("gang", ranks=2, gpus=4, priority="low")
        self.wait_running("gang", 2)
        before = {pod["metadata"]["name"] for pod in self.pods("gang")}
        node = next(iter(self.placed("gang").values()))
        path = f"/api/v1/nodes/{node}/status"
        condition = {"type": "GpuUnhealthy", "reason": "XidErrors", "message": "by hand"}

        def set_health(is_unhealthy):
            self.bed.api("PATCH", path, {"status": {"conditions": [{**condition, "status": "True" if is_unhealthy else "False"}]}},
                         content_type="application/strategic-merge-patch+json", expect=(200,))

        self.addCleanup(set_health, False)
        set_health(True)
        wait_for(lambda: self.nodes()[node]["status"] == "faulty", 10, lambda: str(self.nodes()[node]))
        self.assertIn("GpuUnhealthy", self.nodes()[node]["note"])
        self.submit("later", ranks=2, gpus=4, priority="low")  # the other node has room for both
        self.wait_placed("later", 2)
        self.assertNotIn(node, set(self.placed("later").values()))
        self.assertEqual(set(self.placed("gang")), before, "what runs there stays, unless it is asked for")

        self.set_policy(drainUnhealthy="preemptible")
        wait_for(lambda: self.evicted(before) == before, BOUND_S, lambda: f"the gang goes; so far {self.evicted(before)}")
        wait_for(lambda: node not in set(bound(self.bed, self.namespace).values()), GRACE_S + 10, "the node is empty")
        set_health(False)
        self.wait_placed("gang", 2, GRACE_S + BOUND_S)


if __name__ == "__main__":
    unittest.main()
