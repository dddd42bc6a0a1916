"""What binds a pod to nodes: volumes, host ports, the name of a node and its pool, device classes."""

import unittest

from support import (BOUND_S, PREFIX, RUNNING_S, Daemon, bound, condition, create_pod, delete_namespace_pods, node_of, pod,
                     shared_testbed, unique, wait_for)

NODES = ("default-0", "training-0", "training-1", "inference-0", "dev-0", "test-0", "experiment-0")


class Placement:
    """Pods of a namespace of their own, and their reasons to wait."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("placement"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create(self, *bodies):
        for body in bodies:
            create_pod(self.bed, self.namespace, body)

    def wait_on(self, name, nodes):
        wait_for(lambda: node_of(self.bed, self.namespace, name) in nodes, BOUND_S,
                 lambda: f"{name} on {nodes}: {node_of(self.bed, self.namespace, name)}; {self.waiting_message(name)}")

    def waiting_message(self, name):
        found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
        return f"{found['reason']}: {found['message']}" if found and found["status"] == "False" else ""

    def wait_for_message(self, name, text):
        wait_for(lambda: text in self.waiting_message(name), 2 * BOUND_S, lambda: f"{text!r} in the message of {name}: {self.waiting_message(name)}", every_s=0.2)

    def quiet(self, name, rounds=3):
        """It stays where it is while pods that came after it are bound."""
        for index in range(rounds):
            witness = f"witness-{name}-{index}"
            self.create(pod(witness, gpus=0))
            wait_for(lambda witness=witness: node_of(self.bed, self.namespace, witness), BOUND_S, f"{witness} bound")
            self.assertIsNone(node_of(self.bed, self.namespace, name))


class Volumes(Placement, unittest.TestCase):
    def volume(self, name, claim, **spec):
        body = {"metadata": {"name": name}, "spec": {
            "capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain",
            "nfs": {"server": "nfs.lab.example", "path": "/models"},
            "claimRef": {"namespace": self.namespace, "name": claim}, **spec}}
        self.bed.api("POST", "/api/v1/persistentvolumes", body, expect=(201,))
        self.addCleanup(self.bed.api, "DELETE", f"/api/v1/persistentvolumes/{name}")

    def claim(self, name, volume=""):
        body = {"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteMany"], "storageClassName": "", "resources": {"requests": {"storage": "1Ti"}},
            **({"volumeName": volume} if volume else {})}}
        path = f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims"
        self.bed.api("POST", path, body, expect=(201,))

    @staticmethod
    def reader(name, claim, **spec):
        return pod(name, pool="training-pool", volumes=[{"name": "m", "persistentVolumeClaim": {"claimName": claim}}], **spec)

    def test_a_pod_with_a_claim_that_is_bound_runs(self):
        volume = unique("lab-models")
        self.volume(volume, "models")
        self.claim("models", volume)
        self.create(self.reader("reader", "models"))
        self.wait_on("reader", ("training-0", "training-1"))

    def test_a_claim_that_is_not_bound_is_held_by_name_and_wakes_its_pod_when_it_is(self):
        volume = unique("late")
        self.claim("models", volume)
        self.create(self.reader("reader", "models"))
        self.wait_for_message("reader", "NotReadyForScheduling: it uses persistentVolumeClaim models while it is not bound to a volume")
        self.quiet("reader")
        self.volume(volume, "models")
        self.wait_on("reader", ("training-0", "training-1"))

    def test_a_claim_may_come_after_its_pod(self):
        self.create(self.reader("reader", "models"))
        self.wait_for_message("reader", "it uses persistentVolumeClaim models before it exists")
        volume = unique("later")
        self.volume(volume, "models")
        self.claim("models", volume)
        self.wait_on("reader", ("training-0", "training-1"))

    def test_a_pod_goes_where_its_volume_is(self):
        volume = unique("local")
        self.volume(volume, "data", nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["training-1"]}]}]}})
        self.claim("data", volume)
        self.create(pod("there", volumes=[{"name": "m", "persistentVolumeClaim": {"claimName": "data"}}]))
        self.wait_on("there", ("training-1",))  # it names no pool: the node of its volume has one

    def test_a_volume_that_no_node_reaches_is_named(self):
        volume = unique("far")
        self.volume(volume, "data", nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["moon"]}]}]}})
        self.claim("data", volume)
        self.create(self.reader("reader", "data"))
        self.wait_for_message("reader", "2 node(s) didn't match PersistentVolume's node affinity")
        self.wait_for_message("reader", "2 cannot reach the volume of claim data")

    def test_volumes_that_bind_no_node_are_accepted(self):
        volumes = [{"name": "c", "csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True}},
                   {"name": "n", "nfs": {"server": "nfs.lab.example", "path": "/"}},
                   {"name": "e", "emptyDir": {"medium": "Memory"}},
                   {"name": "h", "hostPath": {"path": "/dev/shm"}},
                   {"name": "p", "projected": {"sources": [{"downwardAPI": {"items": [
                       {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
                   {"name": "d", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                   {"name": "m", "configMap": {"name": "some", "optional": True}},
                   {"name": "s", "secret": {"secretName": "some", "optional": True}}]
        self.create(pod("all", pool="training-pool", volumes=volumes))
        self.wait_on("all", ("training-0", "training-1"))

    def test_a_volume_that_is_made_with_the_pod_is_held_by_name(self):
        self.create(pod("scratch", pool="training-pool", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]))
        self.wait_for_message("scratch", "NotReadyForScheduling: it uses volume type ephemeral, which is not supported")


class HostPorts(Placement, unittest.TestCase):
    @staticmethod
    def listener(name, port, host_ip=None, host_network=False, scheduler="gpuctl", **spec):
        body = pod(name, gpus=0, pool="training-pool", scheduler=scheduler, **spec)
        ports = {"containerPort": port} if host_network else {"containerPort": port, "hostPort": port}
        body["spec"]["containers"][0]["ports"] = [{**ports, **({"hostIP": host_ip} if host_ip else {})}]
        if host_network:
            body["spec"]["hostNetwork"] = True
        return body

    def test_hostNetwork_makes_every_containerPort_a_host_port(self):
        nodes = set()
        for name in ("nccl-0", "nccl-1"):
            self.create(self.listener(name, 2222, host_network=True))
            self.wait_on(name, ("training-0", "training-1"))
            nodes.add(node_of(self.bed, self.namespace, name))
        self.assertEqual(nodes, {"training-0", "training-1"})
        self.create(self.listener("nccl-2", 2222, host_network=True))
        self.wait_for_message("nccl-2", "Unschedulable: 0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports")
        self.wait_for_message("nccl-2", "with host port 2222/TCP; pool training-pool: 2 nodes, the port is in use on each")
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/nccl-0", expect=(200,))
        self.wait_on("nccl-2", ("training-0", "training-1"))

    def test_pods_that_other_schedulers_placed_have_their_ports(self):
        other = self.listener("agent", 9100, scheduler="another-scheduler", nodeName="training-0")
        del other["spec"]["nodeSelector"]
        self.create(other)
        for index in range(2):
            self.create(self.listener(f"exporter-{index}", 9100))
        wait_for(lambda: "training-1" in bound(self.bed, self.namespace).values(), BOUND_S, "one exporter on the other node")
        wait_for(lambda: any("didn't have free ports" in self.waiting_message(f"exporter-{index}") for index in range(2)), 2 * BOUND_S,
                 "the other pod has its reason")
        placed = [node for name, node in bound(self.bed, self.namespace).items() if name.startswith("exporter")]
        self.assertEqual(placed, ["training-1"])

    def test_addresses_of_one_node_do_not_conflict(self):
        for index, address in enumerate(("10.0.0.1", "10.0.0.2", "10.0.0.3")):
            self.create(self.listener(f"l-{index}", 8080, host_ip=address))
            self.wait_on(f"l-{index}", ("training-0", "training-1"))

    def test_ranks_of_a_gang_get_a_node_each_or_none_does(self):
        def rank(gang, index, size):
            body = self.listener(f"{gang}-{index}", 29500, host_network=True)
            body["metadata"]["labels"][f"{PREFIX}/gang"] = gang
            body["metadata"]["annotations"][f"{PREFIX}/gang-min"] = str(size)
            return body

        self.create(*[rank("three", index, 3) for index in range(3)])
        self.wait_for_message("three-0", "room for 2 of 3 ranks")
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(*[rank("two", index, 2) for index in range(2)])
        wait_for(lambda: set(bound(self.bed, self.namespace)) == {"two-0", "two-1"}, BOUND_S, "the gang of two")
        self.assertEqual(set(bound(self.bed, self.namespace).values()), {"training-0", "training-1"})


class NamedNodes(Placement, unittest.TestCase):
    def test_a_DaemonSet_runs_on_the_nodes_of_every_pool(self):
        self.bed.api("POST", f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets", {
            "metadata": {"name": "agent"}, "spec": {
                "selector": {"matchLabels": {"app": "agent"}},
                "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {
                    "schedulerName": "gpuctl", "terminationGracePeriodSeconds": 0, "containers": [
                        {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]}}}}, expect=(201,))
        self.addCleanup(self.bed.kubectl, "-n", self.namespace, "delete", "daemonset", "agent", "--wait=false", check=False)
        wait_for(lambda: set(bound(self.bed, self.namespace).values()) == set(NODES), RUNNING_S,
                 lambda: f"a pod on each of {NODES}: {bound(self.bed, self.namespace)}", every_s=0.2)
        rows = [row for row in self.daemon.items(f"/api/v1/jobs?namespace={self.namespace}") if row["name"] == "agent"]
        self.assertEqual({row["pool"] for row in rows},
                         {"default", "training-pool", "inference-pool", "dev-pool", "test-pool", "experiment-pool"})

    def test_a_pod_that_names_its_node_needs_no_pool(self):
        self.create(pod("by-label", gpus=0, nodeSelector={"kubernetes.io/hostname": "dev-0"}))
        self.wait_on("by-label", ("dev-0",))

    def test_of_several_nodes_the_first_that_exists_gives_the_pool(self):
        def one_of(key, *names):
            return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {key: [{"key": "kubernetes.io/hostname" if key == "matchExpressions" else "metadata.name",
                        "operator": "In", "values": list(part)}]} for part in names]}}}
        self.create(pod("in-a-term", gpus=0, affinity=one_of("matchExpressions", ("gone-0", "dev-0"))))
        self.create(pod("in-two-terms", gpus=0, affinity=one_of("matchFields", ("gone-0",), ("dev-0",))))
        self.wait_on("in-a-term", ("dev-0",))
        self.wait_on("in-two-terms", ("dev-0",))

    def test_a_pool_that_contradicts_the_named_node_is_named_in_the_reason(self):
        self.create(pod("lost", gpus=0, labels={f"{PREFIX}/pool": "test-pool"},
                        nodeSelector={"kubernetes.io/hostname": "dev-0"}))
        self.wait_for_message("lost", "it requests pool test-pool, but usable node dev-0 is in pool dev-pool")

    def test_a_pod_whose_nodes_are_in_another_pool_gets_that_pool_as_reason(self):
        self.create(pod("picky", gpus=0, nodeSelector={"nvidia.com/gpu.product": "A100-100G"}))
        self.wait_for_message("picky", "it requests pool default, but usable node inference-0 is in pool inference-pool, "
                                "2 in pool training-pool")

    def test_a_node_may_come_after_the_pod_that_names_it(self):
        self.create(pod("early", gpus=0, nodeSelector={"kubernetes.io/hostname": "late-0"}))
        self.wait_for_message("early", "it names node kubernetes.io/hostname=late-0, which does not exist")
        self.bed.create_node("late-0", 0, "late-pool")
        self.addCleanup(self.bed.api, "DELETE", "/api/v1/nodes/late-0")
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)
        self.bed.wait_nodes_ready(["late-0"])
        self.wait_on("early", ("late-0",))


class DeviceClasses(Placement, unittest.TestCase):
    RESOURCE = "lab.example/gpu"

    def asking(self, name):
        return pod(name, gpus=1, gpu_resource=self.RESOURCE, pool="training-pool")

    def test_a_resource_served_only_by_a_device_class_is_held_by_name_and_requests_no_node(self):
        self.create(self.asking("before"))
        self.wait_for_message("before", "Unschedulable: 0/2 nodes are available: 2 Insufficient lab.example/gpu")
        classes = "/apis/resource.k8s.io/v1/deviceclasses"
        self.bed.api("POST", classes, {
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.lab.example"},
            "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.lab.example"'}}],
                     "extendedResourceName": self.RESOURCE}}, expect=(201,))
        self.addCleanup(self.bed.api, "DELETE", f"{classes}/gpu.lab.example")
        self.create(self.asking("after"))
        held = ("NotReadyForScheduling: it uses lab.example/gpu of device class gpu.lab.example (dynamic resource allocation), "
                "which is not supported")
        for name in ("before", "after"):
            self.wait_for_message(name, held)
        self.bed.api("DELETE", f"{classes}/gpu.lab.example", expect=(200,))
        self.wait_for_message("after", "Unschedulable: 0/2 nodes are available: 2 Insufficient lab.example/gpu")


if __name__ == "__main__":
    unittest.main()
