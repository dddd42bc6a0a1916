"""Labels, pools, cordons and drains of nodes, on a real API server."""

import json
import unittest

from support import BOUND_S, PREFIX, RUNNING_S, Daemon, shared_testbed, unique, wait_for


class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.pool = unique("nodes")
        cls.names = [cls.bed.create_node(f"{cls.pool}-{index}", gpus=2, pool=cls.pool) for index in range(3)]
        for name in cls.names:
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}")
        cls.bed.wait_nodes_ready(cls.names)
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        wait_for(lambda: all(cls.daemon.rest("GET", f"/api/v1/nodes/{name}")[0] == 200 for name in cls.names), BOUND_S,
                 "gpuctld knows the nodes")

    def label(self, node, key):
        return self.bed.get(f"/api/v1/nodes/{node}")["metadata"]["labels"].get(f"{PREFIX}/{key}")

    def test_three_nodes_are_labelled_at_once_and_a_conflict_changes_nothing(self):
        done = self.daemon.gpuctl("label", *self.names, "teamName=red", "--json")
        rows = json.loads(done.stdout)
        self.assertEqual([row["success"] for row in rows], [True, True, True], rows)
        self.assertEqual([self.label(name, "team-name") for name in self.names], ["red"] * 3)
        again = self.daemon.gpuctl("label", "node", "teamName=red", self.names[0])
        self.assertEqual(again.returncode, 0, "the same value")
        conflict = self.daemon.gpuctl("label", self.names[0], "teamName=blue", check=False)
        self.assertEqual(conflict.returncode, 4, conflict.stderr)
        self.assertIn("LabelConflict", conflict.stderr)
        self.assertEqual(self.label(self.names[0], "team-name"), "red")
        self.daemon.gpuctl("label", self.names[0], "teamName=blue", "--overwrite")
        self.assertEqual(self.label(self.names[0], "team-name"), "blue")
        # A read after the answer shows it.
        self.assertEqual(self.daemon.get(f"/api/v1/nodes/{self.names[0]}/labels/{PREFIX}/team-name")["label"]["value"], "blue")
        self.daemon.gpuctl("label", *self.names, "teamName", "--delete")
        self.assertEqual([self.label(name, "team-name") for name in self.names], [None] * 3)

    def test_kubectl_sees_a_cordon_and_gpuctl_its_end(self):
        node = self.names[1]
        self.daemon.gpuctl("cordon", node)
        self.assertTrue(json.loads(self.bed.kubectl("get", "node", node, "-o", "json"))["spec"].get("unschedulable"))
        self.assertEqual(self.daemon.get(f"/api/v1/nodes/{node}")["status"], "maintaining")
        self.daemon.gpuctl("uncordon", "node", node)
        self.assertFalse(json.loads(self.bed.kubectl("get", "node", node, "-o", "json"))["spec"].get("unschedulable", False))

    def test_a_node_moves_between_pools_only_on_request(self):
        node, other = self.names[2], f"{self.pool}-other"
        refused = self.daemon.gpuctl("add", "node", node, "--pool", other, check=False)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertEqual(self.label(node, "pool"), self.pool)
        self.daemon.gpuctl("add", "node", node, "--pool", other, "--move")
        self.assertEqual(self.label(node, "pool"), other)
        self.assertEqual(self.daemon.get(f"/api/v1/nodes/{node}")["pool"], other)
        stranger = self.daemon.gpuctl("remove", "node", node, "--pool", self.pool, check=False)
        self.assertEqual(stranger.returncode, 4, stranger.stderr)
        self.daemon.gpuctl("remove", "node", node, "--pool", other)
        self.assertIsNone(self.label(node, "pool"))
        self.daemon.gpuctl("add", "node", node, "--pool", self.pool)
        self.assertEqual(self.label(node, "pool"), self.pool)

    def test_a_change_by_kubectl_is_not_written_over(self):
        node = self.names[0]
        self.bed.kubectl("label", "node", node, f"{PREFIX}/owner=another")
        wait_for(lambda: self.daemon.rest("GET", f"/api/v1/nodes/{node}/labels/owner")[0] == 200, RUNNING_S, "the watch shows it")
        status, body = self.daemon.rest("POST", f"/api/v1/nodes/{node}/labels", json.dumps({"key": "owner", "value": "me"}),
                                        content_type="application/json")
        self.assertEqual((status, body["error"]), (409, "LabelConflict"), body)
        self.assertEqual(self.label(node, "owner"), "another")


if __name__ == "__main__":
    unittest.main()
