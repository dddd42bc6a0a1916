"""Acceptance cases about objects, on a real API server: what each document becomes, and what is left when it is deleted."""

import unittest

from acceptance import CONFLICT, NOT_FOUND, Commands, fixture, fixtures, service, training
from support import PREFIX, RUNNING_S, Daemon, create_pod, delete_namespace_pods, pod, shared_testbed, unique, wait_for

PATHS = {"training": ("apis/batch/v1", "jobs"), "inference": ("apis/apps/v1", "deployments"),
         "compute": ("apis/apps/v1", "deployments"), "notebook": ("apis/apps/v1", "statefulsets")}
KINDS = tuple(PATHS)
ROOTS = ["/datasets", "/models", "/output", "/cache", "/home"]


def job_fixtures():
    """{name of the job: (kind, fixture)} of all that can be made."""
    found = {}
    for kind in KINDS:
        for name in fixtures(kind):
            if "non-existent-pool" not in name:
                found[name.rpartition("/")[2].removesuffix(".yaml")] = (kind, name)
    return found


class OnTheApiServer(Commands):
    """Mixed into classes with one gpuctld and a namespace, besides two nodes of 8 GPUs that belong to no pool."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.nodes = [cls.bed.create_node(unique("accept"), gpus=8, model="A100-80G") for _ in range(2)]
        for name in cls.nodes:
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}")
        cls.bed.wait_nodes_ready(cls.nodes)
        cls.daemon = Daemon({"cluster": {"kubernetes": {"hostPathRoots": ROOTS}}}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.namespace = cls.bed.create_namespace(unique("accept"))
        cls.bed.create_pull_secret(cls.namespace, "registry")

    def read(self, resource, name, group="api/v1", namespace=None):
        return self.bed.api("GET", f"/{group}/namespaces/{namespace or self.namespace}/{resource}/{name}")

    def workload(self, kind, name):
        group, resource = PATHS[kind]
        return self.read(resource, name, group)

    def here(self, *words, **options):
        return self.cli(*words, namespace=self.namespace, **options)

    def pods_of(self, name):
        return self.bed.pods(self.namespace, f"{PREFIX}/name={name}")

    def running(self, name):
        self.wait_status(name, namespace=self.namespace)


class Objects(OnTheApiServer, unittest.TestCase):
    """Every fixture is made once, and its objects are read by the tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.jobs = job_fixtures()
        files = [word for _, name in cls.jobs.values() for word in ("-f", fixture(name))]
        cls.dry = cls.daemon.gpuctl("create", *files, "--dry-run", namespace=cls.namespace)
        cls.after_dry_run = [cls.bed.get(f"/{group}/namespaces/{cls.namespace}/{resource}")["items"]
                             for group, resource in set(PATHS.values())]
        cls.made = cls.daemon.gpuctl("create", *files, namespace=cls.namespace)
        cls.addClassCleanup(cls.remove_all)
        cls.objects, cls.services = {}, {}
        for name, (kind, _) in cls.jobs.items():
            group, resource = PATHS[kind]
            cls.objects[name] = cls.bed.get(f"/{group}/namespaces/{cls.namespace}/{resource}/{name}")
        for item in cls.bed.get(f"/api/v1/namespaces/{cls.namespace}/services")["items"]:
            cls.services[item["metadata"]["name"]] = item

    @classmethod
    def remove_all(cls):
        for name in cls.jobs:
            cls.daemon.rest("DELETE", f"/api/v1/jobs/{name}?namespace={cls.namespace}&force=true")
        wait_for(lambda: not cls.bed.pods(cls.namespace), RUNNING_S, "all pods are gone", every_s=0.2)

    def template(self, name):
        return self.objects[name]["spec"]["template"]

    def container(self, name):
        return self.template(name)["spec"]["containers"][0]

    def test_A17_C1_a_dry_run_makes_nothing_and_a_create_says_each_name(self):
        self.assertEqual(self.after_dry_run, [[]] * 3)
        for name in self.jobs:
            self.assertIn(f"{self.namespace}/{name} would be created", self.dry.stdout)
            self.assertIn(f"{self.namespace}/{name} created", self.made.stdout)

    def test_B1_B2_B3_a_description_is_an_annotation_wherever_it_belongs(self):
        key = f"{PREFIX}/description"
        for name, text in (("qwen2-7b-llamafactory-sft", "微调任务"), ("new-test-inference-job", "a second served model"),
                           ("notebook-with-port", "listens elsewhere"), ("env-vars", None), ("test-inference", None),
                           ("basic-notebook", None)):
            objects = [self.objects[name], self.template(name)]
            if f"svc-{name}" in self.services:
                objects.append(self.services[f"svc-{name}"])
            self.assertEqual([item["metadata"].get("annotations", {}).get(key) for item in objects], [text] * len(objects), name)

    def test_B5_B6_each_kind_has_its_workload_and_all_but_training_a_service(self):
        reached = {name for name, (kind, _) in self.jobs.items() if kind != "training"}
        # The ranks of a job find each other by a Service without an address.
        self.assertEqual(set(self.services), {f"svc-{name}" for name in reached | {"multi-node-training"}})
        self.assertEqual(self.services["svc-multi-node-training"]["spec"]["clusterIP"], "None")
        for name, (kind, _) in self.jobs.items():
            self.assertEqual(self.objects[name]["metadata"]["name"], name)
            if kind == "notebook":
                self.assertEqual((self.objects[name]["spec"]["serviceName"], self.objects[name]["spec"]["replicas"]), (f"svc-{name}", 1))

    def test_B7_labels_are_on_workload_and_pods_and_services_select_by_app(self):
        for name, (kind, _) in self.jobs.items():
            for labels in (self.objects[name]["metadata"]["labels"], self.template(name)["metadata"]["labels"]):
                self.assertLessEqual({f"{PREFIX}/{key}" for key in ("job-type", "priority", "pool", "namespace")}, set(labels), name)
                self.assertEqual((labels[f"{PREFIX}/job-type"], labels[f"{PREFIX}/namespace"]), (kind, self.namespace))
            self.assertEqual(self.template(name)["metadata"]["labels"].get("app"), None if kind == "training" else name)
            if kind != "training":
                self.assertEqual(self.objects[name]["spec"]["selector"]["matchLabels"], {"app": name})
                self.assertEqual(self.services[f"svc-{name}"]["spec"]["selector"], {"app": name})

    def test_B9_A13_variables_have_their_names_and_values(self):
        env = {entry["name"]: entry.get("value") for entry in self.container("env-vars")["env"]}
        self.assertLessEqual({"MODEL_NAME": "bert-base-uncased", "DATASET": "squad", "EPOCHS": "3", "BATCH_SIZE": "32",
                              "LEARNING_RATE": "2e-5", "OUTPUT_DIR": "/output/bert", "LOG_LEVEL": "INFO", "SEED": "42",
                              "USE_AMP": "true"}.items(), env.items())
        self.assertNotIn("name", env)
        redis = {entry["name"]: entry.get("value") for entry in self.container("test-redis")["env"]}
        self.assertEqual(redis["REDIS_PORT"], "6379")
        self.assertEqual({entry["name"]: entry.get("value") for entry in self.container("data-prep-notebook0")["env"]}["TEAM"], "data")

    def test_B10_A9_A11_a_service_has_its_arguments_port_and_probes(self):
        container = self.container("test-redis")
        self.assertEqual(container["args"], ["--port", "6379", "--appendonly", "yes"])
        for amounts in (container["resources"]["limits"], container["resources"]["requests"]):
            self.assertEqual(set(amounts), {"cpu", "memory"}, "gpu: 0 is no resource")
            self.assertEqual((amounts["cpu"], amounts["memory"]), ("8", "2Gi"))
        made = self.services["svc-test-redis"]["spec"]
        self.assertEqual((made["type"], made["ports"][0]["port"], made["ports"][0]["targetPort"]), ("NodePort", 6379, 6379))
        for probe, delay in ((container["livenessProbe"], 30), (container["readinessProbe"], 5)):
            self.assertEqual((probe["httpGet"]["path"], probe["httpGet"]["port"], probe["initialDelaySeconds"], probe["periodSeconds"]),
                             ("/health", 6379, delay, 10))
        self.assertEqual(self.objects["test-redis"]["metadata"]["labels"][f"{PREFIX}/port"], "6379")
        # Other spellings of the key.
        self.assertEqual(self.container("test-inference")["livenessProbe"]["httpGet"]["path"], "/health")
        self.assertEqual(self.container("new-test-nginx")["livenessProbe"]["httpGet"]["path"], "/ready")

    def test_B11_B21_directories_are_mounted_at_their_own_path_and_a_file_stays_a_file(self):
        for name in ("llama3-8b-inference", "new-test-inference-job", "qwen2-7b-llamafactory-sft", "data-prep-notebook0"):
            paths = {volume["name"]: volume["hostPath"] for volume in self.template(name)["spec"]["volumes"] if "hostPath" in volume}
            self.assertTrue(paths, name)
            for mount in self.container(name)["volumeMounts"]:
                if mount["name"] in paths:
                    self.assertEqual(mount["mountPath"], paths[mount["name"]]["path"])
            for path in paths.values():
                if path["path"].endswith(".json"):
                    self.assertNotIn("Directory", path.get("type", ""))

    def test_B13_B18_B19_gpus_types_and_secrets(self):
        self.assertNotIn("nvidia.com/gpu", self.container("test-inference")["resources"]["limits"])
        self.assertIn("gpuShare", self.made.stderr)
        pod_spec = self.template("new-test-inference-job")["spec"]
        self.assertEqual(pod_spec["imagePullSecrets"], [{"name": "registry"}])
        self.assertIn("A100-80G", str((pod_spec.get("nodeSelector"), pod_spec.get("affinity"))))
        self.assertIn(f"{PREFIX}/gpu-type", str((pod_spec.get("nodeSelector"), pod_spec.get("affinity"))))
        self.assertEqual(self.container("new-test-inference-job")["resources"]["limits"]["nvidia.com/gpu"], "1")

    def test_B14_B15_a_notebook_listens_where_its_service_points(self):
        for name, port in (("basic-notebook", 8888), ("notebook-with-port", 9999)):
            self.assertEqual(self.container(name)["ports"][0]["containerPort"], port)
            ports = self.services[f"svc-{name}"]["spec"]["ports"][0]
            self.assertEqual((ports["port"], ports["targetPort"]), (port, port))

    def test_C15_there_are_three_priority_classes_and_they_stay(self):
        def classes():
            return {item["metadata"]["name"]: item for item in self.bed.get("/apis/scheduling.k8s.io/v1/priorityclasses")["items"]
                    if item["metadata"]["name"].startswith("gpuctl-")}

        before = classes()
        self.assertEqual({name: item["value"] for name, item in before.items()},
                         {"gpuctl-high": 1000000, "gpuctl-medium": 500000, "gpuctl-low": 100})
        self.create_text(training("one-more"), namespace=self.namespace)
        self.here("delete", "job", "one-more", "--force")
        self.assertEqual({name: item["metadata"]["resourceVersion"] for name, item in classes().items()},
                         {name: item["metadata"]["resourceVersion"] for name, item in before.items()})

    def test_M3_a_namespace_with_our_objects_is_listed_once_with_default(self):
        names = [row["name"] for row in self.document("get", "ns")]
        self.assertEqual((names.count("default"), names.count(self.namespace)), (1, 1))

    def test_G10_what_is_stored_is_what_was_sent_and_changes_nothing(self):
        for name in ("test-redis", "notebook-with-port", "new-test-inference-job", "env-vars"):
            text = self.rest("GET", f"/jobs/{name}?namespace={self.namespace}")["yamlContent"]
            with open(fixture(self.jobs[name][1]), encoding="utf-8") as file:
                self.assertEqual(text, file.read())
            generation = self.objects[name]["metadata"]["generation"]
            self.assertIn("unchanged", self.here("apply", "-f", "-", stdin=text).stdout)
            self.assertEqual(self.workload(self.jobs[name][0], name)[1]["metadata"]["generation"], generation)


class Lives(OnTheApiServer, unittest.TestCase):
    """Jobs that run, are looked at, changed and deleted."""

    def tearDown(self):
        for row in self.rows("-n", self.namespace):
            self.daemon.rest("DELETE", f"/api/v1/jobs/{row['name']}?namespace={self.namespace}&force=true")
        delete_namespace_pods(self.bed, self.namespace)

    def test_C5_C6_a_namespace_that_is_missing_or_not_managed_is_refused_with_what_to_do(self):
        foreign = self.bed.create_namespace(unique("foreign"), managed=False)
        for name, code, word in (("no-such-namespace", NOT_FOUND, "kubectl create namespace no-such-namespace"),
                                 (foreign, CONFLICT, f"kubectl label namespace {foreign} {PREFIX}/namespace=true")):
            for verb in ("create", "apply"):
                self.assertIn(word, self.refused(verb, "-f", "-", code=code, stdin=service("a", namespace=name)))
            self.assertEqual(self.read("deployments", "a", "apis/apps/v1", name)[0], 404)
        self.bed.kubectl("label", "namespace", foreign, f"{PREFIX}/namespace=true")
        self.create_text(training("a", namespace=foreign))
        self.cli("delete", "job", "a", "-n", foreign, "--force")

    def test_C7_C9_C10_what_cannot_be_made_leaves_nothing_behind(self):
        said = self.here("create", "-f", fixture("compute/test-nginx-with-non-existent-pool.yaml"), code=NOT_FOUND).stderr
        self.assertIn("no-such-pool", said)
        self.assertEqual(self.workload("compute", "test-nginx-without-pool")[0], 404)
        self.here("create", "-f", "-", stdin=service("a"))
        for text in (service("a"), training("a"), service("a", kind="notebook")):
            said = self.here("create", "-f", "-", stdin=text, code=CONFLICT).stderr
            self.assertIn("already exists", said)
            self.assertIn("apply", said)
        self.assertEqual([self.workload(kind, "a")[0] for kind in ("compute", "training", "notebook")], [200, 404, 404])

    def test_C14_F1_F5_G6_I1_I2_I3_each_kind_is_found_by_its_name_and_its_pod(self):
        self.create_text("---\n".join((training("t", gpus=1), service("c"), service("n", kind="notebook"))), namespace=self.namespace)
        for name in "tcn":
            self.running(name)
            made = self.pods_of(name)[0]["metadata"]["name"]
            self.assertEqual(self.document("describe", "job", made, "-n", self.namespace)["name"], name)
            self.assertIn("line 19", self.here("logs", name).stdout)
            self.assertEqual(self.document("logs", name, "-n", self.namespace)["pod_name"], made)
        port = self.read("services", "svc-c")[1]["spec"]["ports"][0]["nodePort"]
        access = wait_for(lambda: (lambda job: job["access_methods"] if job["access_methods"]["pod_ip_access"]["url"] else None)(
            self.document("describe", "job", "c", "-n", self.namespace)), RUNNING_S, "the pod has an address", every_s=0.2)
        self.assertEqual(access["node_port_access"]["node_port"], port)
        self.assertIn(f":{port}", self.here("describe", "job", "c").stdout)

    def test_D5_D6_a_change_keeps_the_service_and_a_wrong_one_keeps_everything(self):
        self.here("apply", "-f", "-", stdin=service("web", kind="inference"))
        before = self.workload("inference", "web")[1], self.read("services", "svc-web")[1]
        wrong = service("web", kind="inference", image="example/x:2").replace("cpu: 1", "cpu: many")
        self.assertNotEqual(self.daemon.gpuctl("apply", "-f", "-", "--recreate", stdin=wrong, namespace=self.namespace, check=False).returncode, 0)
        self.assertEqual(self.workload("inference", "web")[1]["metadata"]["generation"], before[0]["metadata"]["generation"])
        self.here("apply", "-f", "-", stdin=service("web", kind="inference", replicas=2, image="example/x:2"))
        after = self.workload("inference", "web")[1], self.read("services", "svc-web")[1]
        self.assertEqual(after[0]["metadata"]["uid"], before[0]["metadata"]["uid"])
        self.assertEqual((after[0]["spec"]["replicas"], after[0]["spec"]["template"]["spec"]["containers"][0]["image"]), (2, "example/x:2"))
        self.assertEqual(after[1]["spec"]["ports"], before[1]["spec"]["ports"])

    def test_E10_G7_pods_of_other_schedulers_are_not_listed_and_bare_ones_of_ours_are(self):
        create_pod(self.bed, self.namespace, pod("stranger", gpus=0, scheduler="default-scheduler", nodeName=self.nodes[0]),
                   role="admin")
        create_pod(self.bed, self.namespace, pod("bare", gpus=0))
        wait_for(lambda: "bare" in self.names("-n", self.namespace), RUNNING_S, "the bare pod is listed", every_s=0.2)
        self.assertEqual(self.names("-n", self.namespace), ["bare"])
        self.assertIn("stranger", [row["job_id"] for row in self.rows("-n", self.namespace, "--all-schedulers")])
        job = self.document("describe", "job", "bare", "-n", self.namespace)
        self.assertEqual((job["kind"], job["yaml_content"] or {}), ("pod", {}))

    def test_H1_H5_L7_nothing_is_left_of_a_deleted_job(self):
        self.create_text("---\n".join((training("t"), service("c"), service("i", kind="inference"), service("n", kind="notebook"))),
                         namespace=self.namespace)
        self.cli("delete", "-f", "-", stdin=service("c", namespace=self.namespace))
        for name in "tin":
            self.rest("DELETE", f"/jobs/{name}?force=true")
        for kind, name in (("training", "t"), ("compute", "c"), ("inference", "i"), ("notebook", "n")):
            wait_for(lambda: self.workload(kind, name)[0] == 404 and self.read("services", f"svc-{name}")[0] == 404,
                     RUNNING_S, f"{kind} {name} is gone", every_s=0.2)

    def test_H7_pods_that_lost_their_workload_are_deleted_and_counted(self):
        self.here("create", "-f", "-", stdin=service("web", replicas=2))
        self.running("web")
        self.bed.api("DELETE", f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web?propagationPolicy=Orphan", expect=(200,))
        replicas = self.bed.get(f"/apis/apps/v1/namespaces/{self.namespace}/replicasets")["items"]
        for item in replicas:
            self.bed.api("DELETE", f"/apis/apps/v1/namespaces/{self.namespace}/replicasets/{item['metadata']['name']}"
                         "?propagationPolicy=Orphan", expect=(200,))
        wait_for(lambda: all(not made["metadata"].get("ownerReferences") for made in self.pods_of("web")), RUNNING_S,
                 "the pods have no owner", every_s=0.2)
        self.assertEqual(len(self.pods_of("web")), 2)
        wait_for(lambda: self.daemon.job("web", self.namespace).get("kind") != "compute", RUNNING_S,
                 lambda: f"gpuctld has seen that the Deployment is gone; it is {self.daemon.job('web', self.namespace)}", every_s=0.2)
        said = self.here("delete", "job", "web", "--force").stdout
        self.assertIn("2 pod", said)
        wait_for(lambda: not self.pods_of("web"), RUNNING_S, "the pods are gone", every_s=0.2)

    def test_SC_5_variables_volumes_two_pods_and_a_log(self):
        text = service("web", replicas=2).replace("example/x:1'", "example/x:1', env: {MODE: test}") + \
            "storage: {data: {mountPath: /data, size: 1Gi}}\n"
        self.here("create", "-f", "-", stdin=text)
        claim = self.read("persistentvolumeclaims", "web-data")[1]
        self.assertEqual(claim["spec"]["resources"]["requests"]["storage"], "1Gi")
        template = self.workload("compute", "web")[1]["spec"]["template"]["spec"]
        self.assertEqual(template["containers"][0]["volumeMounts"][0]["mountPath"], "/data")
        wait_for(lambda: len(self.pods_of("web")) == 2, RUNNING_S, "two pods", every_s=0.2)
        self.assertIn("MODE", self.here("describe", "job", "web").stdout)
        self.here("delete", "job", "web", "--force")
        wait_for(lambda: self.workload("compute", "web")[0] == 404, RUNNING_S, "the Deployment is gone", every_s=0.2)
        self.assertEqual(self.read("persistentvolumeclaims", "web-data")[0], 200, "data outlives the job")


class Policy(Commands, unittest.TestCase):
    """Pools and quotas of the fixtures, on nodes that have the names which they use."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        for name, gpus in (("node-1", 8), ("node-2", 8), ("node-3", 8), ("cpu-0", 0)):
            cls.bed.create_node(name, gpus=gpus, model="A100-80G" if gpus else None)
            cls.addClassCleanup(cls.bed.api, "DELETE", f"/api/v1/nodes/{name}")
        cls.bed.wait_nodes_ready(["node-1", "node-2", "node-3", "cpu-0"])
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def tearDown(self):
        for kind, key in (("quotas", "namespace"), ("pools", "name")):
            for row in self.daemon.items(f"/api/v1/{kind}"):
                if row.get("source") != "file":
                    self.daemon.rest("DELETE", f"/api/v1/{kind}/{row[key]}?force=true")
        wait_for(lambda: not any(self.labels(node).get(f"{PREFIX}/pool") for node in ("node-1", "node-2", "node-3", "cpu-0")),
                 RUNNING_S, "no node is in a pool", every_s=0.2)

    def labels(self, node):
        return self.bed.get(f"/api/v1/nodes/{node}")["metadata"]["labels"]

    def wait_labels(self, node, pool, gpu=None):
        wait_for(lambda: (lambda found: found.get(f"{PREFIX}/pool") == pool and gpu in (None, found.get(f"{PREFIX}/gpu-type")))(
            self.labels(node)), RUNNING_S, lambda: f"{node} in {pool} with {gpu}: {self.labels(node)}", every_s=0.2)

    def test_K1_D7_E13_a_pool_labels_nodes_that_join_and_frees_those_that_leave(self):
        self.create("pool/training-pool.yaml")
        self.wait_labels("node-1", "training-pool", "A100-100G")
        self.wait_labels("node-2", "training-pool", "A800-80G")
        pool = next(pool for pool in self.document("get", "pools") if pool["name"] == "training-pool")
        self.assertLessEqual({"node-1", "node-2"}, set(pool["nodes"]))
        self.cli("apply", "-f", "-", stdin="kind: pool\npool: {name: training-pool}\nnodes: {node-2: {gpuType: H100}, node-3: {}}\n")
        self.wait_labels("node-1", None)
        self.wait_labels("node-2", "training-pool", "H100")
        self.wait_labels("node-3", "training-pool")

    def test_K2_K3_unknown_nodes_and_nodes_of_another_pool_are_refused_whole(self):
        said = self.refused("create", "-f", "-", code=NOT_FOUND,
                            stdin="kind: pool\npool: {name: p}\nnodes: {node-1: {}, ghost-a: {}, ghost-b: {}}\n")
        self.assertIn("ghost-a", said)
        self.assertIn("ghost-b", said)
        self.create("pool/test-pool.yaml")
        said = self.refused("create", "-f", fixture("pool/training-pool.yaml"), code=CONFLICT)
        self.assertIn("node-1", said)
        self.assertNotIn(f"{PREFIX}/pool", self.labels("node-2"))

    def test_K5_K6_H15_a_quota_is_a_labelled_resource_quota_of_each_namespace(self):
        self.create("quota/test-quota.yaml")
        hard = self.bed.get("/api/v1/namespaces/default/resourcequotas/tesla-quota-default")["spec"]["hard"]
        self.assertEqual((hard.get("requests.nvidia.com/gpu"), hard.get("cpu", hard.get("requests.cpu")),
                          hard.get("memory", hard.get("requests.memory"))), ("2", "20", "40Gi"))
        for name in ("team-lab", "team-red", "team-blue"):
            self.assertEqual(self.bed.get(f"/api/v1/namespaces/{name}")["metadata"]["labels"][f"{PREFIX}/namespace"], "true")
        said = self.refused("create", "-f", "-", code=CONFLICT, stdin="kind: quota\nquota: {name: second}\nnamespace: {team-lab: {cpu: 1}}\n")
        self.assertIn("tesla-quota", said)
        self.cli("delete", "quota", "tesla-quota", "--force")
        for name in ("default", "team-lab"):
            self.assertEqual(self.bed.get(f"/api/v1/namespaces/{name}/resourcequotas")["items"], [])
            self.assertNotIn("deletionTimestamp", self.bed.get(f"/api/v1/namespaces/{name}")["metadata"])


if __name__ == "__main__":
    unittest.main()
