"""The API server absent at start, gone in the middle, back again; relists, and a world that changed meanwhile."""

import subprocess
import unittest

from support import BOUND_S, Daemon, Testbed, bound, create_pod, node_of, pod, unique, wait_for


NOT_READY = (500, 503)


class Outage(unittest.TestCase):
    """Has a cluster of its own: the other tests want their cluster to stay."""

    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(kwok=False, controllers=False).start()
        cls.addClassCleanup(cls.bed.stop)
        for index in range(2):
            cls.bed.create_node(f"node-{index}", gpus=8)

    def setUp(self):
        if "kube-apiserver" not in self.bed.processes:
            self.bed.start_apiserver()
        self.namespace = self.bed.create_namespace(unique("outage"))

    def tearDown(self):
        if "kube-apiserver" not in self.bed.processes:
            self.bed.start_apiserver()
        for item in self.bed.pods(self.namespace):
            self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{item['metadata']['name']}?gracePeriodSeconds=0")

    def bind_one(self, name, seconds=BOUND_S):
        create_pod(self.bed, self.namespace, pod(name))
        wait_for(lambda: node_of(self.bed, self.namespace, name), seconds, f"{name} bound")

    def test_absent_at_start_it_waits_says_so_and_then_works(self):
        self.bed.kubeconfig("gpuctld")
        self.bed.stop_apiserver()
        daemon = Daemon(bed=self.bed)
        daemon.start(wait=False)
        self.addCleanup(daemon.stop)

        def explains():
            if not daemon.process.alive:
                raise AssertionError(f"it ended with {daemon.process.exit_code}:\n{daemon.process.log()}")
            try:
                return daemon.rest("GET", "/readyz")[0] in NOT_READY and daemon.rest("GET", "/livez")[0] == 200
            except OSError:
                return False

        wait_for(explains, 20, "alive and not ready")
        self.bed.start_apiserver()
        daemon.wait_ready(40)
        self.bind_one("after")

    def test_gone_in_the_middle_and_back(self):
        daemon = Daemon(bed=self.bed).start()
        self.addCleanup(daemon.stop)
        self.bind_one("before")
        self.bed.stop_apiserver()
        wait_for(lambda: daemon.rest("GET", "/readyz")[0] in NOT_READY, 30, "not ready without its API server")
        self.assertEqual(daemon.rest("GET", "/livez")[0], 200)
        self.assertEqual(daemon.rest("GET", "/api/v1/nodes")[0], 200)
        self.bed.start_apiserver()
        daemon.wait_ready(40)
        self.bind_one("after")

    def test_frozen_for_a_while(self):
        """SIGSTOP: connections stay open and nothing answers; deadlines must notice."""
        daemon = Daemon(bed=self.bed).start()
        self.addCleanup(daemon.stop)
        self.bind_one("before")
        server = self.bed.processes["kube-apiserver"]
        server.send(19)
        try:
            wait_for(lambda: daemon.rest("GET", "/readyz")[0] in NOT_READY, 40, "not ready with a frozen API server")
        finally:
            server.send(18)
        daemon.wait_ready(60)
        self.bind_one("after", seconds=40)

    def test_what_changed_during_the_outage_is_observed(self):
        daemon = Daemon(bed=self.bed).start()
        self.bind_one("old")
        daemon.process.kill()
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/old?gracePeriodSeconds=0", expect=(200,))
        for index in range(2):
            create_pod(self.bed, self.namespace, pod(f"new-{index}", gpus=8))
        again = Daemon(bed=self.bed, folder=daemon.folder).start()
        self.addCleanup(again.stop)
        wait_for(lambda: len(bound(self.bed, self.namespace)) == 2, BOUND_S, "both whole nodes are used again")

    def test_a_job_deleted_during_the_outage_is_removed_afterwards(self):
        daemon = Daemon(bed=self.bed).start()
        done = daemon.gpuctl("create", "-f", "-", namespace=self.namespace, stdin=(
            f"kind: training\njob: {{name: orphan, namespace: {self.namespace}}}\nenvironment: {{image: x}}\n"
            "resources: {gpu: 1, cpu: 1, memory: 1Gi}\n"))
        self.assertEqual(done.returncode, 0)
        daemon.process.kill()
        self.bed.api("DELETE", f"/apis/batch/v1/namespaces/{self.namespace}/jobs/orphan?propagationPolicy=Background",
                     expect=(200,))
        again = Daemon(bed=self.bed, folder=daemon.folder).start()
        self.addCleanup(again.stop)
        wait_for(lambda: again.rest("GET", f"/api/v1/jobs/orphan?namespace={self.namespace}")[0] == 404, BOUND_S,
                 "a job that the API server no longer has is no job here")

    def test_errors_of_the_api_server_lose_no_pod(self):
        """A role without the right to bind: 403 for everything, then the right comes back."""
        daemon = Daemon(bed=self.bed).start()
        self.addCleanup(daemon.stop)
        rules = self.bed.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/gpuctld")["rules"]
        without = [rule for rule in rules if "pods/binding" not in rule.get("resources", [])]
        role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpuctld"
        self.bed.api("PATCH", role, {"rules": without}, expect=(200,))
        try:
            self.bed.wait_allowed(False, "create", "pods/binding")
            create_pod(self.bed, self.namespace, pod("refused"))
            wait_for(lambda: any(event["responseStatus"]["code"] == 403 and event.get("objectRef", {}).get("subresource") == "binding"
                                 for event in self.bed.audit_events("system:serviceaccount:gpuctl-system:gpuctld")),
                     BOUND_S, "a refused bind")
            self.assertIsNone(node_of(self.bed, self.namespace, "refused"))
        finally:
            self.bed.api("PATCH", role, {"rules": rules}, expect=(200,))
        wait_for(lambda: node_of(self.bed, self.namespace, "refused"), 90, "bound once it may")


class WrongCredentials(unittest.TestCase):
    def test_wrong_credentials_are_named(self):
        with Testbed(kwok=False, controllers=False, audit=False) as bed:
            bed.tokens["gpuctld"] = "not-the-token"
            daemon = Daemon(bed=bed)
            daemon.start(wait=False)
            try:
                def is_reported():
                    if not daemon.process.alive:
                        return "401" in daemon.process.log() or "nauthorized" in daemon.process.log()
                    try:
                        status, body = daemon.rest("GET", "/readyz?verbose=true")
                    except OSError:
                        return False
                    return status in NOT_READY and ("401" in str(body) or "nauthorized" in str(body))

                wait_for(is_reported, 30, lambda: f"the refusal is named: {daemon.readiness()} {daemon.process.log()[-500:]}")
            finally:
                try:
                    daemon.stop()
                except subprocess.TimeoutExpired:
                    pass


if __name__ == "__main__":
    unittest.main()
