"""config/rbac.yaml is what the code sends: nothing was refused, nothing granted went unused.

Runs last, on the audit logs that all other tests on shared clusters have written; by itself it runs a short
tour through everything first."""

import json
import os
import pathlib
import time
import unittest

from support import (BOUND_S, PREFIX, RUNNING_S, Daemon, WebSocket, bound, create_pod, create_volume, delete_namespace_pods,
                     pod, shared_testbed, unique, wait_for)
from testbed import read_audit_log

USER = "system:serviceaccount:gpuctl-system:gpuctld"
KINDS = {
    "training": "kind: training\njob: {name: tour-training}\nenvironment: {image: a, command: [train, ds_config.json]}\nresources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}\n",
    "inference": "kind: inference\njob: {name: tour-inference}\nenvironment: {image: a}\nservice: {replicas: 1, port: 8000}\n"
                 "resources: {pool: inference-pool, gpu: 1, cpu: 1, memory: 1Gi}\n",
    "notebook": "kind: notebook\njob: {name: tour-notebook}\nenvironment: {image: a}\nresources: {pool: dev-pool, gpu: 1, cpu: 1, memory: 1Gi}\n"
                "storage: {data: {mountPath: /data, size: 1Gi}}\n",
    "compute": "kind: compute\njob: {name: tour-compute}\nenvironment: {image: a}\nservice: {port: 80}\nresources: {pool: test-pool, cpu: 1, memory: 1Gi}\n",
}


def wanted_by(event):
    """(group, resource/subresource, verb) of an audit entry."""
    reference = event["objectRef"]
    resource = reference["resource"] + (f"/{reference['subresource']}" if reference.get("subresource") else "")
    return reference.get("apiGroup", ""), resource, event["verb"]


SESSIONS = ("exec?command=true&", "attach?", "portforward?port=80&")
# An event is counted once more 45 minutes after it was made.
TOO_SLOW_FOR_A_TEST = {("events.k8s.io", "events", "patch")}


def rights_shown_by(event):
    """What a request shows to be needed, beyond its own verb: an apply that made its object needed `create` too, as a
    WebSocket to a pod does, and a watch that begins with all existing objects counts as the `list` that older servers need instead."""
    group, resource, verb = wanted_by(event)
    yield group, resource, verb
    if verb == "patch" and event["responseStatus"]["code"] == 201:
        yield group, resource, "create"
    if verb == "get" and resource in ("pods/exec", "pods/attach", "pods/portforward"):
        yield group, resource, "create"  # asked for by the API server itself when a GET becomes a WebSocket
    if verb == "watch" and "sendInitialEvents=true" in event.get("requestURI", ""):
        yield group, resource, "list"


class Rights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.namespace = cls.bed.create_namespace(unique("rights"))

    def requests(self):
        """The requests of gpuctld to this API server and, in a run with several workers, to those of the other workers."""
        other_logs = [pathlib.Path(log) for log in os.environ.get("GPUCTL_AUDIT_LOGS", "").split(os.pathsep) if log]
        return self.bed.audit_events(USER) + [event for log in other_logs for event in read_audit_log(log, USER)]

    def subresources(self, since):
        """Of the requests of gpuctld to this API server that the audit log has from that byte on."""
        return {event["objectRef"].get("subresource") for event in self.bed.audit_events(USER, since) if event.get("objectRef")}

    def granted(self):
        """(group, resource, verb) of every rule bound to gpuctld's service account, anywhere."""
        found = set()
        base = "/apis/rbac.authorization.k8s.io/v1"

        def ours(binding):
            return any(subject.get("kind") == "ServiceAccount" and subject["name"] == "gpuctld" for subject in binding.get("subjects", []))

        for binding in self.bed.get(f"{base}/clusterrolebindings")["items"] + self.bed.get(f"{base}/rolebindings")["items"]:
            if not ours(binding):
                continue
            reference = binding["roleRef"]
            path = f"{base}/clusterroles/{reference['name']}" if reference["kind"] == "ClusterRole" else \
                f"{base}/namespaces/{binding['metadata']['namespace']}/roles/{reference['name']}"
            for rule in self.bed.get(path)["rules"]:
                for group in rule.get("apiGroups", []):
                    for resource in rule.get("resources", []):
                        found.update((group, resource, verb) for verb in rule["verbs"])
        return found

    def let_one_make_room_for_another(self):
        for priority in ("low", "high"):
            status, body = self.daemon.rest("POST", f"/api/v1/jobs?namespace={self.namespace}", (
                f"kind: training\njob: {{name: tour-{priority}, priority: {priority}}}\nenvironment: {{image: a}}\n"
                "resources: {pool: training-pool, gpu: 8, cpu: 1, memory: 1Gi, nodeCount: 2}\n"))
            self.assertEqual(status, 201, body)
            wait_for(lambda name=f"tour-{priority}": self.daemon.job(name, self.namespace).get("status") == "Running", RUNNING_S,
                     f"tour-{priority} runs", every_s=0.2)
        for priority in ("low", "high"):
            self.daemon.rest("DELETE", f"/api/v1/jobs/tour-{priority}?namespace={self.namespace}")
            wait_for(lambda name=f"tour-{priority}": self.daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={self.namespace}")[0] == 404,
                     RUNNING_S, f"tour-{priority} is gone", every_s=0.2)

    def label_and_unlabel(self):
        try:
            self.daemon.gpuctl("label", "test-0", "tour=yes", "--overwrite")
            self.daemon.gpuctl("label", "test-0", "tour", "--delete")
            return True
        except AssertionError:  # it does not lead now
            return False

    def change_the_policy(self):
        """A pool, a queue, a quota and a namespace: made, changed, deleted, and the status of the first two."""
        pool, space, theirs = unique("tour"), unique("tour-team"), self.bed.create_namespace(unique("tour-theirs"), managed=False)
        self.addCleanup(self.bed.api, "DELETE", f"/apis/runwhere.ai/v1/computepools/{pool}")

        def changed(method, path, body=None):
            status, answer = self.daemon.rest(method, f"/api/v1/{path}", body and json.dumps(body), content_type="application/json")
            self.assertIn(status, (200, 201), answer)

        changed("POST", "pools", {"name": pool})
        changed("POST", "queues", {"pool": pool, "name": "q"})
        changed("POST", "quotas", {"name": "q", "namespace": space, "gpu": 1})
        changed("POST", "namespaces", {"name": theirs})  # which exists: it is labelled
        for resource, name in (("computepools", pool), ("queues", f"{pool}.q")):
            wait_for(lambda resource=resource, name=name: self.bed.get(f"/apis/runwhere.ai/v1/{resource}/{name}").get("status"), RUNNING_S,
                     f"the status of {name}", every_s=0.2)
        changed("PUT", f"pools/{pool}", {"description": "tour"})
        changed("PUT", f"queues/q?pool={pool}", {"weight": 2})
        changed("PUT", f"quotas/{space}", {"gpu": 2})
        for path in (f"queues/q?pool={pool}", f"pools/{pool}", f"quotas/{space}", f"namespaces/{space}", f"namespaces/{theirs}"):
            changed("DELETE", path)

    def test_a_tour_through_everything(self):
        """What the other tests may have left out when this file runs by itself."""
        create_pod(self.bed, self.namespace, pod("huge", gpus=99))
        for index in range(2):
            create_pod(self.bed, self.namespace, pod(f"g-{index}", labels={f"{PREFIX}/gang": "g"}, pool="training-pool",
                                                     annotations={f"{PREFIX}/gang-min": "2"}))
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "the gang bound")
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)
        delete_namespace_pods(self.bed, self.namespace)
        self.let_one_make_room_for_another()
        self.change_the_policy()
        volume = create_volume(self.bed, self.namespace, "tour-notebook-data")
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/persistentvolumes/{volume}")
        wait_for(self.label_and_unlabel, RUNNING_S, "a label is set and deleted by a gpuctld that leads")
        for kind, text in KINDS.items():
            with self.subTest(kind):
                name = f"tour-{kind}"
                status, body = self.daemon.rest("POST", f"/api/v1/jobs?namespace={self.namespace}", text)
                self.assertEqual(status, 201, body)
                wait_for(lambda: self.daemon.job(name, self.namespace).get("status") == "Running", RUNNING_S,
                         lambda: f"{name} runs: {self.daemon.job(name, self.namespace)}", every_s=0.2)
                self.assertTrue(self.daemon.get(f"/api/v1/jobs/{name}/logs?namespace={self.namespace}")["logs"])
                began = self.bed.audit_size()
                sockets = [WebSocket(self.daemon.port, f"/api/v1/jobs/{name}/{session}namespace={self.namespace}")
                           for session in SESSIONS]
                wait_for(lambda began=began: {one.partition("?")[0] for one in SESSIONS} <= self.subresources(began), BOUND_S,
                         lambda began=began: f"the sessions reach the API server, so far {self.subresources(began)}", every_s=0.2)
                for socket in sockets:
                    socket.close()
                self.assertEqual(self.daemon.rest("DELETE", f"/api/v1/jobs/{name}?namespace={self.namespace}")[0], 200)
                wait_for(lambda: self.daemon.rest("GET", f"/api/v1/jobs/{name}?namespace={self.namespace}")[0] == 404,
                         RUNNING_S, f"{name} is gone", every_s=0.2)
        time.sleep(1)  # the audit log is written after the answers

    def test_never_refused(self):
        """For want of a right: a quota's 403 comes after the right was found."""
        refused = sorted({(*wanted_by(event), event["objectRef"].get("namespace", "")) for event in self.requests()
                          if event["responseStatus"]["code"] == 403 and event.get("objectRef")
                          and event.get("annotations", {}).get("authorization.k8s.io/decision") != "allow"})
        self.assertEqual(refused, [])

    def test_no_right_is_granted_without_use(self):
        used = {right for event in self.requests()
                if event.get("objectRef") and event["responseStatus"]["code"] < 400 or event["responseStatus"]["code"] in (404, 409, 410, 422)
                for right in rights_shown_by(event)}
        granted = self.granted()
        self.assertGreater(len(granted), 5)
        self.assertNotIn("*", {part for right in granted for part in right})
        self.assertEqual(sorted(granted - used - TOO_SLOW_FOR_A_TEST), [], "granted and never used")


if __name__ == "__main__":
    unittest.main()
