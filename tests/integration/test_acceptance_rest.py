"""Acceptance cases about the REST API, on the embedded cluster."""

import unittest

from acceptance import LABORATORY, Laboratory, fixture, service, training
from support import RUNNING_S, Daemon, merged, wait_for

SLASH = "runwhere.ai%2Fgpu-type"


def text_of(name):
    with open(fixture(name), encoding="utf-8") as file:
        return file.read()


class Jobs(Laboratory, unittest.TestCase):
    def test_L1_a_job_of_each_kind_is_accepted(self):
        for name, kind in (("training/test-training", "training"), ("inference/test-inference", "inference"),
                           ("notebook/test-notebook-job", "notebook"), ("compute/test-nginx", "compute")):
            answer = self.rest("POST", "/jobs", {"yamlContent": text_of(f"{name}.yaml")}, status=201)
            self.assertLessEqual({"jobId", "name", "kind", "status", "createdAt", "message"}, set(answer))
            self.assertEqual((answer["jobId"], answer["kind"], answer["status"].lower()), (name.rpartition("/")[2], kind, "pending"))
        self.assertEqual(self.rest("POST", "/jobs", training("plain"), status=201)["name"], "plain")

    def test_L2_what_is_no_job_is_refused_with_400(self):
        for text in (text_of("quota/test-quota.yaml"), text_of("pool/test-pool.yaml"), "kind: [training\n", "kind: unsupported\n"):
            answer = self.rest("POST", "/jobs", {"yamlContent": text}, status=400)
            self.assertTrue(answer["error"] and answer["message"], answer)
        self.assertEqual(self.rows(), [])

    def test_L3_a_batch_is_made_item_by_item_in_its_order(self):
        both = self.rest("POST", "/jobs/batch", {"yamlContents": [training("b"), service("a")]}, status=201)
        self.assertEqual([item["name"] for item in both["success"]], ["b", "a"])
        self.assertEqual(both["failed"], [])
        mixed = self.rest("POST", "/jobs/batch", {"yamlContents": [training("c"), "kind: nonsense\n", training("d")]}, status=201)
        self.assertEqual([item["name"] for item in mixed["success"]], ["c", "d"])
        self.assertEqual([item["index"] for item in mixed["failed"]], [1])
        self.assertTrue(mixed["failed"][0]["error"])

    def test_L5_pages_have_bounds(self):
        for query in ("pageSize=0", "pageSize=101", "page=0", "page=x"):
            answer = self.rest("GET", f"/jobs?{query}", status=400)
            self.assertIn(query.partition("=")[0], answer["message"])
        self.create_text("---\n".join(training(name) for name in "abc"))
        page = self.rest("GET", "/jobs?view=job&page=2&pageSize=2")
        self.assertEqual((page["total"], len(page["items"])), (3, 1))

    def test_L6_a_job_is_read_by_its_id(self):
        self.create("training/test-training.yaml")
        self.wait_status("test-training")
        job = self.rest("GET", "/jobs/test-training")
        self.assertEqual([job[key] for key in ("jobId", "name", "namespace", "kind", "status", "pool")],
                         ["test-training", "test-training", "default", "training", "Running", "default"])
        self.assertTrue(job["createdAt"])
        self.assertEqual(self.rest("GET", "/jobs/absent", status=404)["error"], "JobNotFound")

    def test_L7_a_job_of_any_namespace_is_deleted(self):
        self.create_text(service("web", namespace="team-a") + "---\n" + training("b", GPUCTL_SIM_RUN_TIME="600s"))
        answer = self.rest("DELETE", "/jobs/web")
        self.assertEqual((answer["jobId"], answer["status"]), ("web", "terminating"))
        self.assertTrue(answer["message"])
        self.wait_gone("web", "team-a")
        self.wait_status("b")
        self.rest("DELETE", "/jobs/b?force=true")
        self.wait_gone("b")
        self.assertEqual(self.rest("DELETE", "/jobs/b", status=404)["error"], "JobNotFound")

    def test_L19_errors_have_one_shape_without_a_trace(self):
        for method, path, body, status in (("GET", "/nope", None, 404), ("PATCH", "/jobs", {}, 405),
                                           ("POST", "/jobs", {"yamlContent": 7}, 400), ("POST", "/jobs/batch", {"yamlContents": "x"}, 400),
                                           ("GET", "/jobs/x/logs?follow=true", None, 400)):
            answer = self.rest(method, path, body, status=status)
            self.assertLessEqual({"error", "message", "status", "title", "type", "detail"}, set(answer), (method, path))
            self.assertEqual(answer["status"], status)
            for trace in ("terminate called", ".cpp", "0x", "std::"):
                self.assertNotIn(trace, str(answer))


class Nodes(Laboratory, unittest.TestCase):
    def test_L9_L10_a_pool_is_made_listed_once_changed_and_deleted(self):
        answer = self.rest("POST", "/pools", {"name": "p", "description": "d", "nodes": ["node-1"]}, status=201)
        self.assertEqual((answer["name"], answer["status"]), ("p", "created"))
        self.assertTrue(answer["message"])
        self.assertEqual([pool["name"] for pool in self.rest("GET", "/pools")["items"]].count("p"), 1)
        pool = self.rest("GET", "/pools/p")
        self.assertEqual((pool["description"], pool["nodes"], pool["gpuTotal"], pool["gpuFree"]), ("d", ["node-1"], 8, 8))
        self.rest("PUT", "/pools/p", {"description": "e", "nodes": ["node-2"]})
        pool = self.rest("GET", "/pools/p")
        self.assertEqual((pool["description"], pool["nodes"]), ("e", ["node-2"]))
        answer = self.rest("DELETE", "/pools/p")
        self.assertEqual((answer["name"], answer["status"]), ("p", "deleted"))
        for method, body in (("GET", None), ("PUT", {"description": "x"}), ("DELETE", None)):
            self.assertEqual(self.rest(method, "/pools/p", body, status=404)["error"], "PoolNotFound")
        self.assertEqual(self.rest("GET", "/pools/default")["name"], "default")

    def test_L11_nodes_and_their_gpus_are_read(self):
        nodes = self.rest("GET", "/nodes")
        self.assertEqual(nodes["total"], 6)
        self.assertEqual(nodes["items"][0]["nodeName"], "cpu-0")
        self.assertEqual(self.rest("GET", "/nodes/node-1")["resources"]["gpuTotal"], 8)
        details = self.rest("GET", "/nodes/gpu-detail")
        self.assertEqual(len(next(item for item in details["items"] if item["nodeName"] == "node-1")["gpus"]), 8)
        self.assertEqual(self.rest("GET", "/nodes/absent", status=404)["error"], "NodeNotFound")

    def test_L13_labels_are_read_and_written_also_with_a_slash_in_the_key(self):
        for key, at in (("zone", "zone"), ("runwhere.ai/zone", "runwhere.ai/zone"), ("runwhere.ai/zone", "runwhere.ai%2Fzone")):
            made = self.rest("POST", "/nodes/node-1/labels", {"key": key, "value": "a"})
            self.assertEqual(made["label"]["value"], "a")
            one = self.rest("GET", f"/nodes/node-1/labels/{at}")["label"]
            self.assertEqual((one["key"], one["value"]), ("runwhere.ai/zone", "a"))
            self.assertEqual(self.rest("PUT", f"/nodes/node-1/labels/{at}", {"value": "b"})["label"], "runwhere.ai/zone=b")
            self.assertEqual(self.rest("GET", "/nodes/node-1/labels")["labels"]["runwhere.ai/zone"], "b")
            conflict = self.rest("POST", "/nodes/node-1/labels", {"key": key, "value": "c"}, status=409)
            self.assertEqual(conflict["error"], "LabelConflict")
            self.rest("DELETE", f"/nodes/node-1/labels/{at}")
            self.assertEqual(self.rest("GET", f"/nodes/node-1/labels/{at}", status=404)["error"], "LabelNotFound")
        self.assertEqual(self.rest("GET", f"/nodes/node-1/labels/{SLASH}")["label"]["value"], "A100-80G")

    def test_L14_several_nodes_are_labelled_by_each_way_to_name_them(self):
        both = ["node-1", "node-2"]
        for query, body in (("?nodeNames=node-1,node-2&key=zone&value=a", None), ("?nodeNames=node-1&nodeNames=node-2&key=zone&value=b", None),
                            ("", {"nodeNames": both, "key": "zone", "value": "c", "overwrite": True})):
            query += "&overwrite=true" if query else ""
            answer = self.rest("POST", f"/nodes/labels/batch{query}", body)
            self.assertEqual((answer["success"], answer["failed"]), (both, []))
        some = self.rest("POST", "/nodes/labels/batch", {"nodeNames": ["node-1", "ghost"], "key": "zone", "value": "c"})
        self.assertEqual((some["success"], [(item["nodeName"], item["error"]) for item in some["failed"]]),
                         (["node-1"], [("ghost", "NodeNotFound")]))
        self.cli("label", *both, "zone", "--delete")

    def test_L15_labels_of_all_nodes_are_listed(self):
        rows = {row["nodeName"]: row for row in self.rest("GET", "/nodes/labels/all")["items"]}
        self.assertEqual(rows["infer-0"]["boundPools"], ["inference-pool"])
        self.assertEqual(rows["node-1"]["gpuLabels"], [{"key": "runwhere.ai/gpu-type", "value": "A100-80G"}])
        labels = self.rest("GET", "/labels")
        self.assertEqual(labels["runwhere.ai/gpu-type"], ["A10-24G", "A100-80G"])
        self.assertIn("key", self.rest("GET", "/nodes/labels", status=400)["message"])
        self.assertEqual(self.rest("GET", f"/nodes/labels?key={SLASH}")["total"], 5)

    def test_L17_namespaces_are_listed_and_only_made_ones_are_deleted(self):
        self.create("quota/memory-quota.yaml")
        self.assertEqual([item["name"] for item in self.rest("GET", "/namespaces")["items"]], ["default", "team-memory"])
        self.assertEqual(self.rest("GET", "/namespaces/team-memory")["quota"]["name"], "memory-quota")
        self.assertIsNone(self.rest("GET", "/namespaces/default")["quota"])
        self.assertEqual(self.rest("DELETE", "/namespaces/default", status=403)["error"], "NamespaceNotManaged")
        self.assertEqual(self.rest("DELETE", "/namespaces/absent", status=404)["error"], "NamespaceNotFound")
        self.assertEqual(self.rest("DELETE", "/namespaces/team-memory")["status"], "deleted")


class Tokens(unittest.TestCase):
    def test_L18_without_a_token_nothing_is_answered(self):
        daemon = Daemon(LABORATORY)
        tokens = daemon.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text("test-token-0123456789 admin ada\n")
        daemon.configuration = merged(daemon.configuration, {"server": {"tokensFile": str(tokens)}})
        daemon.start()
        self.addCleanup(daemon.stop)
        for headers, status in (({}, 401), ({"Authorization": "Bearer another-token-01234"}, 401),
                                ({"Authorization": "Bearer test-token-0123456789"}, 200)):
            got, answer = daemon.rest("GET", "/api/v1/jobs", headers=headers)
            self.assertEqual(got, status, answer)
        self.assertEqual(daemon.rest("GET", "/api/v1/jobs")[1]["error"], "Unauthorized")


class Scenarios(Laboratory, unittest.TestCase):
    def test_SC_1_the_life_of_a_job_with_its_pool_and_quota(self):
        self.create_text("kind: namespace\nnamespace: {name: team-a}\n---\nkind: pool\nmetadata: {name: lab-pool}\nspec: {nodes: [cpu-0]}\n---\n"
                         "kind: quota\nmetadata: {name: lab-quota, namespace: team-a}\nspec: {cpu: 4, memory: 8Gi, gpu: 1}\n")
        job = service("web", namespace="team-a").replace("port: 8000", "port: 80, targetPort: 8080, protocol: TCP, type: NodePort").replace(
            "resources: {", "resources: {pool: lab-pool, ")
        self.create_text(job)
        self.wait_status("web", namespace="team-a")
        self.assertEqual(self.names("-n", "team-a"), ["web"])
        self.assertIn("team-a", self.cli("describe", "job", "web").stdout)
        self.assertTrue(self.cli("logs", "web").stdout)
        self.cli("apply", "-f", "-", stdin=job.replace("replicas: 1", "replicas: 2"))
        wait_for(lambda: [row["status"] for row in self.rows()] == ["Running"] * 2, RUNNING_S, "two pods run", every_s=0.1)
        self.cli("delete", "job", "web", "--wait", "--force")
        self.cli("delete", "quota", "lab-quota", "--force")
        self.cli("delete", "pool", "lab-pool")
        self.assertEqual((self.rows(), self.document("get", "quotas")), ([], []))

    def test_SC_2_three_kinds_in_two_namespaces_are_listed_apart(self):
        self.create_text("---\n".join((service("c", namespace="team-a"), service("i", kind="inference", namespace="team-a"),
                                       training("t", namespace="team-b"))))
        for flags, names in (((), ["c", "i", "t"]), (("-n", "team-a"), ["c", "i"]), (("--kind", "training"), ["t"]),
                             (("-n", "team-a", "--kind", "training"), [])):
            self.assertEqual(self.names(*flags), names, flags)
        for name in ("c", "i", "t"):
            self.cli("delete", "job", name, "--force", "--wait")
        self.assertEqual(self.rows(), [])

    def test_SC_3_a_pool_and_the_labels_of_its_node(self):
        self.create_text("kind: pool\npool: {name: p}\nnodes: {node-1: {}}\n")
        self.assertIn("node-1", self.cli("describe", "pool", "p").stdout)
        self.assertEqual(self.cli("get", "labels", "node-1", "--key=pool").stdout, "runwhere.ai/pool: p\n")
        self.cli("label", "node-1", "tier=gold")
        self.cli("label", "node-1", "tier=silver", "--overwrite")
        self.assertIn("silver", self.cli("describe", "node", "node-1").stdout)
        self.cli("label", "node-1", "tier", "--delete")
        self.cli("delete", "pool", "p")
        self.assertNotIn("p", [pool["name"] for pool in self.document("get", "pools")])

    def test_SC_4_a_quota_counts_what_runs_and_lets_the_next_job_wait(self):
        self.create("quota/scenario-quota.yaml")
        self.create_text("---\n".join(training(name, gpus=1, namespace="team-scenario") for name in "ab"))
        self.wait_status("a", namespace="team-scenario")
        self.assertEqual(self.document("describe", "quota", "team-scenario")["used"]["nvidia.com/gpu"], "1")
        self.assertEqual(self.status("b", "team-scenario"), "Pending")
        self.cli("delete", "job", "a", "-n", "team-scenario", "--force")
        self.wait_status("b", namespace="team-scenario")
        self.cli("delete", "job", "b", "-n", "team-scenario", "--force", "--wait")
        self.assertEqual(self.document("describe", "quota", "team-scenario")["used"]["nvidia.com/gpu"], "0")


if __name__ == "__main__":
    unittest.main()
