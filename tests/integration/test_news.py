"""What `kubectl describe pod` says: each waiting pod has its condition and an event, each bound pod an event; at rates that
thousands of pods do not raise, and the first pods of all jobs before the second ones."""

import collections
import time
import unittest

from support import BOUND_S, RUNNING_S, Daemon, condition, create_pod, delete_namespace_pods, pod, shared_testbed, unique, wait_for

USER = "system:serviceaccount:gpuctl-system:gpuctld"
GPUS = 8


class News(unittest.TestCase):
    def setUp(self):
        self.bed = shared_testbed()
        self.namespace = self.bed.create_namespace(unique("news"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)
        self.pool = unique("news-pool")
        self.bed.wait_nodes_ready([self.bed.create_node(f"{self.pool}-0", gpus=GPUS, pool=self.pool)])
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/nodes/{self.pool}-0")

    def start(self, **options):
        daemon = Daemon(bed=self.bed, **options).start()
        self.addCleanup(daemon.stop)
        return daemon

    def events(self):
        """pod -> [(reason, note)]"""
        found = collections.defaultdict(list)
        for event in self.bed.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]:
            if event.get("reportingController") == "gpuctl":
                found[event["regarding"]["name"]].append((event["reason"], event["note"]))
        return found

    def deployment(self, name, replicas, gpus):
        body = pod(name, gpus=gpus, pool=self.pool, labels={"app": name})
        del body["metadata"]["name"]
        self.bed.api("POST", f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": body}}, expect=(201,))
        self.addCleanup(self.bed.api, "DELETE", f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}")

    def test_every_waiting_and_every_running_pod_of_a_deployment_has_an_event(self):
        self.start()
        self.deployment("web", replicas=4, gpus=4)

        def all_have_events():
            pods, events = self.bed.pods(self.namespace), self.events()
            return len(pods) == 4 and all(events[each["metadata"]["name"]] for each in pods) and events

        events = wait_for(all_have_events, RUNNING_S, lambda: f"an event on each pod: {dict(self.events())}")
        bound = 0
        for each in self.bed.pods(self.namespace):
            name, node = each["metadata"]["name"], each["spec"].get("nodeName")
            if node:
                bound += 1
                self.assertEqual(events[name], [("Scheduled", f"Successfully assigned {self.namespace}/{name} to {node}")])
            else:
                said = condition(each, "PodScheduled")
                self.assertEqual(said["status"], "False")
                self.assertIn(("FailedScheduling", said["message"]), events[name])
        self.assertEqual(bound, 2)

    def test_events_of_many_waiting_pods_have_a_bounded_rate_with_one_pod_of_each_job_first(self):
        self.deployment("many", replicas=300, gpus=GPUS + 1)
        wait_for(lambda: len(self.bed.pods(self.namespace)) == 300, RUNNING_S, "300 pods")
        since = self.bed.audit_size()
        self.start()
        wait_for(lambda: self.events(), BOUND_S, "the first event")
        for index in range(3):
            create_pod(self.bed, self.namespace, pod(f"single-{index}", gpus=GPUS + 1, pool=self.pool))
        wait_for(lambda: all(self.events()[f"single-{index}"] for index in range(3)), 8,
                 "three pods that came late, before the 300 all have their events")
        self.assertLess(len(self.events()), 290)
        began = time.monotonic()
        wait_for(lambda: all(condition(each, "PodScheduled") for each in self.bed.pods(self.namespace)), BOUND_S,
                 "each pod has its condition", every_s=0.5)
        self.assertLess(time.monotonic() - began, BOUND_S)
        wait_for(lambda: len(self.events()) == 303, RUNNING_S, lambda: f"each pod has its event, {len(self.events())} have",
                 every_s=0.5)
        per_second = collections.Counter()
        for event in self.bed.audit_events(USER, since):
            reference = event.get("objectRef", {})
            if reference.get("namespace") != self.namespace:
                continue
            what = "/".join(filter(None, (reference["resource"], reference.get("subresource"))))
            per_second[what, event["requestReceivedTimestamp"][:19]] += 1
        totals = collections.Counter()
        for (what, _), count in per_second.items():
            totals[what] += count
        self.assertEqual(totals["pods/status"], 303, totals)
        self.assertEqual(totals["events"], 303, totals)
        # A burst of 20 and 100 a second; a burst of 20 and 20 a second.
        self.assertLessEqual(max(count for (what, _), count in per_second.items() if what == "pods/status"), 130)
        self.assertLessEqual(max(count for (what, _), count in per_second.items() if what == "events"), 42)


if __name__ == "__main__":
    unittest.main()
