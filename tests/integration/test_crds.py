"""ComputePools, Queues, labelled ResourceQuotas and managed Namespaces: made by kubectl and by gpuctl, on a real API server."""

import json
import time
import unittest

from support import BOUND_S, PREFIX, RUNNING_S, Daemon, Testbed, shared_testbed, unique, wait_for
from testbed import ApiError

API = "/apis/runwhere.ai/v1"


def compute_pool(name, nodes=(), **spec):
    return {"apiVersion": "runwhere.ai/v1", "kind": "ComputePool", "metadata": {"name": name},
            "spec": {"nodes": [{"name": node} for node in nodes], **spec}}


def queue(pool, name, **spec):
    return {"apiVersion": "runwhere.ai/v1", "kind": "Queue", "metadata": {"name": f"{pool}.{name}"}, "spec": {"pool": pool, **spec}}


def condition(found, kind):
    return next((one for one in found.get("status", {}).get("conditions", []) if one["type"] == kind), {})


class Kinds(unittest.TestCase):
    """What the API server itself refuses and prints; no gpuctld."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()

    def refused(self, body):
        with self.assertRaises(ApiError) as caught:
            self.bed.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(body))
        return str(caught.exception)

    def accepted(self, body):
        self.bed.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(body))

    def test_what_a_compute_pool_may_say_is_checked_with_a_sentence(self):
        quotas = [{"tenant": "team-a", "limit": 32, "guaranteed": 16}, {"tenant": "team-b", "limit": 24, "guaranteed": 8},
                  {"tenant": "team-c", "limit": 16, "guaranteed": 0}]
        self.accepted(compute_pool("training-pool", ["n-0"], poolType="gpu", capacity={"total": 64, "reserved": 8},
                                   virtualization={"enabled": True, "strategy": "mig"}, quotas=quotas))
        self.assertIn("guaranteed must not be more than limit",
                      self.refused(compute_pool("p", quotas=[{"tenant": "a", "limit": 1, "guaranteed": 2}])))
        self.assertIn("guarantees of quotas are more together",
                      self.refused(compute_pool("p", capacity={"total": 20, "reserved": 8}, quotas=quotas)))
        self.assertIn("reserved must not be more", self.refused(compute_pool("p", capacity={"total": 1, "reserved": 2})))
        self.assertIn("always exists", self.refused(compute_pool("default")))
        self.assertIn("becomes a label", self.refused(compute_pool("with.dots")))
        self.assertIn("poolType", self.refused(compute_pool("p", poolType="tpu")))
        twice = compute_pool("p", ["a", "a"])
        self.assertIn("Duplicate value", self.refused(twice))

    def test_the_name_of_a_queue_is_its_place(self):
        self.accepted(queue("infer", "chat", weight=2, guaranteed=4, order="FIFO"))
        wrong = queue("infer", "chat")
        wrong["metadata"]["name"] = "chat"
        self.assertIn("must be POOL.QUEUE", self.refused(wrong))
        self.assertIn("every pool has the queue default", self.refused(queue("infer", "default")))
        self.assertIn("spec.weight", self.refused(queue("infer", "chat", weight=0)))

    def test_kubectl_explains_them(self):
        self.assertIn("restores the label", " ".join(self.bed.kubectl("explain", "computepools").split()))
        self.assertIn("older one has it", " ".join(self.bed.kubectl("explain", "cp.spec.nodes").split()))
        self.assertIn("POOL.QUEUE", self.bed.kubectl("explain", "queues.runwhere.ai"))


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.nodes = [cls.bed.create_node(unique(f"crd-{index}"), gpus=4) for index in range(3)]
        for name in cls.nodes:
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}")
        cls.bed.wait_nodes_ready(cls.nodes)
        cls.daemon = Daemon({"policy": {"pools": [{"name": "of-file"}]}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def tearDown(self):
        """Leaves no pools and queues."""
        for resource in ("queues", "computepools"):
            for found in self.bed.get(f"{API}/{resource}")["items"]:
                self.bed.api("DELETE", f"{API}/{resource}/{found['metadata']['name']}")
        wait_for(lambda: not any(self.label(node) for node in self.nodes), RUNNING_S, "the labels are gone")

    def apply(self, body):
        self.bed.kubectl("apply", "-f", "-", stdin=json.dumps(body))

    def pool(self, name):
        return self.bed.get(f"{API}/computepools/{name}")

    def label(self, node, key="pool"):
        return self.bed.get(f"/api/v1/nodes/{node}")["metadata"].get("labels", {}).get(f"{PREFIX}/{key}")

    def knows(self, name, nodes):
        def is_so():
            status, body = self.daemon.rest("GET", f"/api/v1/pools/{name}")
            return status == 200 and sorted(body["nodes"]) == sorted(nodes)
        wait_for(is_so, BOUND_S, lambda: f"pool {name}: {self.daemon.rest('GET', f'/api/v1/pools/{name}')}")

    def wait_condition(self, name, kind, status, reason, resource="computepools"):
        def is_so():
            found = condition(self.bed.get(f"{API}/{resource}/{name}"), kind)
            return (found.get("status"), found.get("reason")) == (status, reason)
        wait_for(is_so, RUNNING_S, lambda: f"{name} {kind} {status} {reason}: {self.bed.get(f'{API}/{resource}/{name}')}")
        return condition(self.bed.get(f"{API}/{resource}/{name}"), kind)

    def test_kubectl_applies_patches_and_deletes_a_pool(self):
        name, (first, second, _) = unique("pool"), self.nodes
        self.apply(compute_pool(name, [first]))
        self.knows(name, [first])
        wait_for(lambda: self.label(first) == name, RUNNING_S, "the label follows")
        self.assertEqual(self.daemon.get(f"/api/v1/pools/{name}")["source"], "crd")
        self.wait_condition(name, "Ready", "True", "Ready")
        status = self.pool(name)["status"]
        self.assertEqual((status["nodes"], status["totalCapacity"], status["phase"]), (1, 4, "Ready"))
        self.assertEqual(status["observedGeneration"], self.pool(name)["metadata"]["generation"])
        self.assertIn(name, self.bed.kubectl("get", "cp"))
        self.bed.kubectl("patch", "computepool", name, "--type=merge", "-p",
                         json.dumps({"spec": {"nodes": [{"name": second, "gpuType": "L40"}], "poolType": "gpu"}}))
        self.knows(name, [second])
        wait_for(lambda: (self.label(first), self.label(second), self.label(second, "gpu-type")) == (None, name, "L40"), RUNNING_S,
                 "the labels follow")
        self.bed.kubectl("delete", "computepool", name)
        wait_for(lambda: self.daemon.rest("GET", f"/api/v1/pools/{name}")[0] == 404, BOUND_S, "it is gone")
        wait_for(lambda: self.label(second) is None, RUNNING_S, "so is the label")

    def test_a_label_that_differs_is_restored_and_the_node_stays_in_its_pool(self):
        name, node = unique("pool"), self.nodes[0]
        self.apply(compute_pool(name, [node]))
        wait_for(lambda: self.label(node) == name, RUNNING_S, "the label")
        self.bed.kubectl("label", "node", node, f"{PREFIX}/pool=another", "--overwrite")
        wait_for(lambda: self.label(node) == name, RUNNING_S, "the label is restored")
        self.assertEqual(self.daemon.get(f"/api/v1/nodes/{node}")["pool"], name)
        events = self.bed.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        wait_for(lambda: [one for one in self.bed.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                          if one["reason"] == "PoolLabelRestored" and one["regarding"]["name"] == node], RUNNING_S,
                 lambda: f"an event says so: {[one['reason'] for one in events]}")

    def test_a_node_of_two_pools_stays_in_the_older_one(self):
        older, younger, (both, other, _) = unique("older"), unique("younger"), self.nodes
        self.apply(compute_pool(older, [both]))
        self.knows(older, [both])
        time.sleep(1.1)  # creation times have whole seconds
        self.apply(compute_pool(younger, [both, other]))
        self.knows(younger, [other])
        self.knows(older, [both])
        said = self.wait_condition(younger, "Ready", "False", "Conflict")
        self.assertIn(f"{both} (pool {older})", said["message"])
        self.bed.kubectl("delete", "computepool", older)
        self.knows(younger, [both, other])
        self.wait_condition(younger, "Ready", "True", "Ready")

    def test_names_of_the_file_are_not_used_and_say_so(self):
        self.apply(compute_pool("of-file", [self.nodes[0]]))
        said = self.wait_condition("of-file", "Accepted", "False", "ManagedByFile")
        self.assertIn("gpuctld.yaml", said["message"])
        self.assertEqual(self.daemon.get("/api/v1/pools/of-file")["source"], "file")
        self.assertIsNone(self.label(self.nodes[0]))
        status, answer = self.daemon.rest("POST", "/api/v1/pools", '{"name": "of-file"}', content_type="application/json")
        self.assertEqual((status, answer["error"]), (409, "ManagedByFile"), answer)

    def test_gpuctl_writes_the_same_objects(self):
        name, (first, second, _) = unique("pool"), self.nodes
        text = f"kind: pool\npool: {{name: {name}, description: served}}\nnodes: {{{first}: {{}}}}\nquota: {{maxJobs: 3}}\n"
        status, answer = self.daemon.rest("POST", "/api/v1/pools", text)
        self.assertEqual(status, 201, answer)
        made = self.pool(name)
        self.assertEqual(made["spec"], {"description": "served", "nodes": [{"name": first}], "limits": {"maxJobs": 3}})
        # A read after the answer shows it.
        self.assertEqual(self.daemon.get(f"/api/v1/pools/{name}")["nodes"], [first])
        self.assertEqual(self.daemon.get(f"/api/v1/pools/{name}")["source"], "api")
        again = self.daemon.rest("POST", "/api/v1/policy?mode=apply", text)
        self.assertEqual(again[1]["results"][0]["action"], "unchanged", again)
        both = text + f"---\nkind: queue\nqueue: {{name: chat, pool: {name}, weight: 2, guaranteed: 1}}\n"
        status, answer = self.daemon.rest("POST", "/api/v1/policy?mode=apply", both)
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.bed.get(f"{API}/queues/{name}.chat")["spec"], {"pool": name, "weight": 2, "guaranteed": 1})
        self.assertEqual(self.daemon.get(f"/api/v1/queues/chat?pool={name}")["weight"], 2)
        # What other clients wrote stays.
        self.bed.kubectl("patch", "cp", name, "--type=merge", "-p", '{"spec": {"poolType": "gpu"}}')
        changed = json.dumps({"nodes": [first, second]})
        wait_for(lambda: self.daemon.rest("PUT", f"/api/v1/pools/{name}", changed, content_type="application/json")[0] == 200, BOUND_S,
                 "a change")
        spec = self.pool(name)["spec"]
        self.assertEqual((spec["poolType"], spec["limits"], [node["name"] for node in spec["nodes"]]),
                         ("gpu", {"maxJobs": 3}, sorted([first, second])))
        status, answer = self.daemon.rest("DELETE", f"/api/v1/pools/{name}")
        self.assertEqual((status, answer["error"]), (409, "PoolInUse"), answer)
        self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/queues/chat?pool={name}")[0], 200)
        self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/pools/{name}")[0], 200)
        self.assertEqual(self.bed.api("GET", f"{API}/computepools/{name}")[0], 404)
        # Although the labels of its nodes may still be there.
        self.assertEqual(self.daemon.rest("GET", f"/api/v1/pools/{name}")[0], 404)

    def test_a_queue_without_its_pool_waits_for_it(self):
        name = unique("pool")
        self.apply(queue(name, "chat", weight=3))
        self.wait_condition(f"{name}.chat", "Accepted", "False", "PoolNotFound", "queues")
        self.apply(compute_pool(name))
        self.wait_condition(f"{name}.chat", "Accepted", "True", "Accepted", "queues")
        self.wait_condition(name, "Ready", "False", "PoolEmpty")
        self.assertEqual(self.daemon.get(f"/api/v1/queues/chat?pool={name}")["weight"], 3)

    def test_a_quota_is_a_resource_quota_with_our_labels(self):
        space = unique("team")
        status, answer = self.daemon.rest("POST", "/api/v1/quotas", json.dumps({"name": "q1", "namespace": space, "cpu": 20, "memory": "40Gi",
                                                                                 "gpu": 2}), content_type="application/json")
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.bed.get(f"/api/v1/namespaces/{space}")["metadata"]["labels"][f"{PREFIX}/namespace"], "true")
        path = f"/api/v1/namespaces/{space}/resourcequotas/q1-{space}"
        made = self.bed.get(path)
        hard = made["spec"]["hard"]
        self.assertEqual((hard["cpu"], hard["memory"], hard["requests.nvidia.com/gpu"], hard["requests.amd.com/gpu"]),
                         ("20", "40Gi", "2", "2"))
        self.assertEqual((made["metadata"]["labels"][f"{PREFIX}/quota"], made["metadata"]["labels"][f"{PREFIX}/namespace"]), ("q1", space))
        # One without our label is never read.
        self.bed.api("POST", f"/api/v1/namespaces/{space}/resourcequotas", {
            "metadata": {"name": "foreign"}, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}}, expect=(201,))
        self.assertEqual(self.daemon.get(f"/api/v1/quotas/{space}")["hard"]["gpu"], "2")
        self.bed.kubectl("patch", "resourcequota", "-n", space, f"q1-{space}", "--type=merge", "-p",
                         json.dumps({"spec": {"hard": {name: "3" for name in hard if name.startswith("requests.")}}}))
        wait_for(lambda: self.daemon.get(f"/api/v1/quotas/{space}")["hard"]["gpu"] == "3", BOUND_S, "the edit")
        status, answer = self.daemon.rest("PUT", f"/api/v1/quotas/{space}", '{"gpu": 5}', content_type="application/json")
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.bed.get(path)["spec"]["hard"]["requests.nvidia.com/gpu"], "5")
        self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/quotas/{space}")[0], 200)
        self.assertEqual(self.bed.api("GET", path)[0], 404)
        self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/namespaces/{space}")[0], 200)

    def test_a_namespace_of_another_client_is_labelled_and_never_deleted(self):
        space = self.bed.create_namespace(unique("theirs"), managed=False)
        status, answer = self.daemon.rest("POST", "/api/v1/namespaces", json.dumps({"name": space}), content_type="application/json")
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.bed.get(f"/api/v1/namespaces/{space}")["metadata"]["labels"][f"{PREFIX}/namespace"], "true")
        self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/namespaces/{space}")[0], 200)
        found = self.bed.get(f"/api/v1/namespaces/{space}")["metadata"]
        self.assertNotIn(f"{PREFIX}/namespace", found["labels"])
        self.assertNotIn("deletionTimestamp", found)

    def test_nothing_fights(self):
        name, node = unique("pool"), self.nodes[0]
        self.apply(compute_pool(name, [node], limits={"maxGpuPerJob": "8"}))
        self.apply(queue(name, "chat", maximum="2"))
        self.wait_condition(name, "Ready", "True", "Ready")
        wait_for(lambda: self.label(node) == name, RUNNING_S, "the label")
        time.sleep(2)  # writes that are under way

        def versions():
            return [self.bed.get(path)["metadata"]["resourceVersion"] for path in (
                f"{API}/computepools/{name}", f"{API}/queues/{name}.chat")] + [self.label(node)]
        before = versions()
        time.sleep(4)
        self.assertEqual(versions(), before)

    def test_z_a_daemon_with_an_empty_journal_knows_the_pools(self):
        name, node = unique("pool"), self.nodes[1]
        self.apply(compute_pool(name, [node]))
        self.knows(name, [node])
        self.daemon.stop()
        type(self).daemon = Daemon(bed=self.bed).start()
        self.addClassCleanup(type(self).daemon.stop)
        self.knows(name, [node])
        self.assertEqual(self.label(node), name)
        # What was deleted meanwhile is gone, with its label.
        self.daemon.stop()
        self.bed.kubectl("delete", "computepool", name)
        type(self).daemon = Daemon(bed=self.bed).start()
        self.addClassCleanup(type(self).daemon.stop)
        self.assertEqual(self.daemon.rest("GET", f"/api/v1/pools/{name}")[0], 404)
        wait_for(lambda: self.label(node) is None, RUNNING_S, "the label of the deleted pool is removed")


class WithoutKinds(unittest.TestCase):
    def test_it_runs_says_what_to_apply_and_finds_them_later(self):
        bed = Testbed(kwok=False, controllers=False, kinds=False).start()
        self.addCleanup(bed.stop)
        bed.create_node("node-0", gpus=1)
        with Daemon(bed=bed) as daemon:
            status, answer = daemon.rest("POST", "/api/v1/pools", '{"name": "infer", "nodes": ["node-0"]}', content_type="application/json")
            self.assertEqual((status, answer["error"]), (501, "NotSupportedHere"), answer)
            self.assertIn("kubectl apply -f config/crds.yaml", answer["message"])
            self.assertEqual(daemon.process.log().count("does not have the kinds ComputePool"), 1)
            status, answer = daemon.rest("POST", "/api/v1/namespaces", '{"name": "team-a"}', content_type="application/json")
            self.assertEqual(status, 201, answer)
            bed.apply_kinds()
            wait_for(lambda: daemon.rest("POST", "/api/v1/pools", '{"name": "infer", "nodes": ["node-0"]}',
                                         content_type="application/json")[0] == 201, 30, "the kinds are found", every_s=0.5)
            self.assertEqual(daemon.get("/api/v1/pools/infer")["nodes"], ["node-0"])


if __name__ == "__main__":
    unittest.main()
