"""config/deploy.yaml: one kubectl apply, then gpuctld started with exactly the arguments, environment,
configuration and secrets that the API server then has, at exactly the paths, as exactly that service account, in the
image that the file names (kubelet.py)."""

import os
import pathlib
import tempfile
import time
import unittest

from kubelet import Container, unpack_image
from support import BOUND_S, REPOSITORY, Process, Testbed, create_pod, free_port, node_of, pod, unique, wait_for
from processes import PATIENCE  # after support, which sets the path to it

FILE = REPOSITORY / "config" / "deploy.yaml"
NAMESPACE = "gpuctl-system"


class Deployed(unittest.TestCase):
    """The file applied to a cluster, and its container to start."""

    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(kwok=False, controllers=False, rbac=False).start()
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.kubectl("apply", "-f", str(FILE))
        cls.bed.create_node("node-0", gpus=8)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.image = unpack_image(REPOSITORY, folder.name)

    def setUp(self):
        deployments = self.bed.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]
        self.assertEqual(len(deployments), 1)
        self.deployment = deployments[0]
        self.pod = self.deployment["spec"]["template"]["spec"]

    def container(self, **options):
        made = Container(self.bed, NAMESPACE, self.pod, self.image, Process, **options)
        self.addCleanup(made.clean)
        return made

    def wait_ready(self, container):
        wait_for(container.is_ready, 40,
                 lambda: f"the readiness probe: {container.probe('readinessProbe')}\n{container.log()[-2000:]}", every_s=0.2)

    def bind_one(self, container):
        name = unique("pod")
        create_pod(self.bed, "default", pod(name, gpus=1))
        wait_for(lambda: node_of(self.bed, "default", name) == "node-0", BOUND_S, lambda: f"bound; {container.log()[-1000:]}")


class Deploy(Deployed):
    def assert_runs_as_asked(self, container):
        """Seen from outside, of the process itself; as an ordinary user there is nothing to see."""
        if os.geteuid() != 0:
            return
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{container.pid}/status").read_text().splitlines())
        security = container.security()
        self.assertEqual(status["Uid"].split(), [str(security["runAsUser"])] * 4)
        self.assertEqual(status["Gid"].split(), [str(security["runAsGroup"])] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")

    def test_its_security_settings_and_resources_are_as_documented(self):
        self.assertEqual(self.deployment["spec"]["replicas"], 1)
        self.assertEqual(self.pod["serviceAccountName"], "gpuctld")
        security = self.container().security()
        self.assertTrue(security.get("runAsNonRoot"))
        self.assertFalse(security.get("allowPrivilegeEscalation", True))
        self.assertTrue(security.get("readOnlyRootFilesystem"))
        self.assertEqual(security["capabilities"], {"drop": ["ALL"]})
        self.assertTrue(self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/services")["items"])
        self.assertTrue(self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")["items"])
        schemas = self.bed.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")["items"]
        subjects = [subject.get("serviceAccount", {}).get("name") for schema in schemas for rule in schema["spec"].get("rules", [])
                    for subject in rule["subjects"]]
        self.assertIn("gpuctld", subjects)

    def test_applying_it_twice_changes_nothing(self):
        self.assertNotIn("created", self.bed.kubectl("apply", "-f", str(FILE)))

    def test_it_starts_as_written_and_binds_a_pod(self):
        container = self.container().start()
        self.wait_ready(container)
        self.assertEqual(container.probe("livenessProbe")[0], 200)
        self.assert_runs_as_asked(container)
        self.bind_one(container)
        user = f"system:serviceaccount:{NAMESPACE}:gpuctld"
        refused = [event for event in self.bed.audit_events(user) if event["responseStatus"]["code"] == 403]
        self.assertEqual([(event["verb"], event["objectRef"]) for event in refused], [])
        self.assertTrue(self.bed.audit_events(user), "it came as its service account")

    def test_it_starts_with_every_variable_that_services_of_its_namespace_bring(self):
        for name, ports in (("gpuctl", ["TCP"]), ("gpuctld-metrics", ["TCP", "UDP", "SCTP"]), ("gpuctld-server", ["TCP"]),
                            ("gpuctld-service-port", ["TCP", "TCP"]), ("gpuctld-headless", None)):
            self.bed.api("POST", f"/api/v1/namespaces/{NAMESPACE}/services", {"metadata": {"name": name}, "spec": {
                "clusterIP": None if ports else "None",
                "ports": [{"name": f"port-{index}", "port": 8000 + index, "protocol": protocol}
                          for index, protocol in enumerate(ports or ["TCP"])]}}, expect=(201,))
            self.addCleanup(self.bed.api, "DELETE", f"/api/v1/namespaces/{NAMESPACE}/services/{name}")
        container = self.container()
        container.has_service_links = True
        environment = container.all_environment()
        self.assertRegex(environment["GPUCTLD_PORT"], r"^tcp://10\.0\.0\.\d+:443$")
        self.assertRegex(environment["GPUCTLD_SERVER_PORT"], r"^tcp://10\.0\.0\.\d+:8000$")
        self.assertEqual(environment["GPUCTLD_METRICS_SERVICE_PORT_PORT_1"], "8001")
        self.assertEqual(environment["GPUCTLD_METRICS_PORT_8002_SCTP_PROTO"], "sctp")
        self.assertNotIn("GPUCTLD_HEADLESS_SERVICE_HOST", environment)
        container.start()
        self.wait_ready(container)
        self.bind_one(container)

    def test_it_asks_for_no_variables_of_services(self):
        self.assertIs(self.pod.get("enableServiceLinks"), False)
        environment = self.container().all_environment()
        self.assertEqual([name for name in environment if name.startswith("GPUCTL") and "SERVICE" in name], [])
        self.assertIn("KUBERNETES_SERVICE_HOST", environment)

    def test_the_grace_period_exceeds_the_time_to_stop(self):
        configuration = self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/gpuctld")["data"]["gpuctld.yaml"]
        timeout = next(int(line.split(":")[1].strip().rstrip("s")) for line in configuration.splitlines()
                       if line.strip().startswith("shutdownTimeout:"))
        self.assertGreaterEqual(self.pod["terminationGracePeriodSeconds"], timeout + 8)  # main.cpp waits 5 s for a start to end


class InAPod(Deployed):
    """What a pod may find that no fake kubelet shows. Each container has a port of its own."""

    def container(self, **options):
        made = super().container(**options)
        made.environment["GPUCTLD_SERVER_PORT"] = str(free_port())
        return made

    def stop(self, container, seconds):
        container.process.send(15)
        return container.process.wait(seconds)

    def test_it_needs_no_home_no_folder_for_temporary_files_and_no_names_of_hosts_or_users(self):
        container = self.container()
        container.environment["HOME"] = None
        container.environment["HOSTNAME"] = None
        container.files.update({"/etc/resolv.conf": None, "/etc/hosts": None, "/etc/hostname": None})
        container.user = 1_000_650_000  # as OpenShift chooses it: without a line in /etc/passwd
        container.group = 0
        container.start()
        self.assertFalse((container.folder / "root" / "tmp").exists())
        self.wait_ready(container)
        self.bind_one(container)
        self.assertEqual(self.stop(container, 25), 0)

    def test_a_container_that_died_is_followed_at_once_by_the_one_that_is_started_again(self):
        template = self.deployment["spec"]["template"]
        made = self.bed.api("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {
            "metadata": {"name": "gpuctld-0", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}, expect=(201,))[1]
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/gpuctld-0?gracePeriodSeconds=0")
        first = self.container(uid=made["metadata"]["uid"]).start()
        self.wait_ready(first)
        self.bind_one(first)
        self.assertEqual(first.kill(), 128 + 9)
        again = self.container(uid=made["metadata"]["uid"], claims=first.claims).start()
        self.wait_ready(again)
        began = time.monotonic()
        self.bind_one(again)
        self.assertLess(time.monotonic() - began, 2 * PATIENCE)
        self.assertEqual(self.stop(again, 25), 0)

    def test_a_volume_without_write_permission_is_reported_with_a_remedy(self):
        if os.geteuid() != 0:
            return  # one user only
        container = self.container()
        container.owner_of_claims = (0, 0, 0o755)  # a driver that ignores fsGroup
        container.start()
        self.assertEqual(container.process.wait(30), 1)
        self.assertIn("/var/lib/gpuctl", container.log())
        self.assertIn("user 65532 and group 65532", container.log())
        self.assertIn("fsGroup", container.log())

    def test_it_stops_in_time_while_the_api_server_is_away(self):
        grace = self.pod["terminationGracePeriodSeconds"]
        container = self.container().start()
        self.wait_ready(container)
        self.bed.stop_apiserver()
        try:
            container.process.send(15)
            self.assertIn(container.process.wait(grace - 2), (0, 1))
        finally:
            self.bed.start_apiserver()

    def test_it_stops_at_once_when_it_is_still_waiting_for_the_api_server(self):
        container = self.container()
        container.environment.update(KUBERNETES_SERVICE_HOST="192.0.2.1")  # no server listens there
        container.start()
        wait_for(lambda: "waiting" in container.probe("readinessProbe")[1] or "asking" in container.probe("readinessProbe")[1], 20,
                 lambda: container.log())
        self.assertIn(self.stop(container, 8), (0, 1))


if __name__ == "__main__":
    unittest.main()
