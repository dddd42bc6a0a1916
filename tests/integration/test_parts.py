"""Parts of GPUs on the real API server: which pods share a GPU is in the binding's annotation, and the container
would read it from there."""

import unittest

from support import (BOUND_S, PREFIX, RUNNING_S, Daemon, bound, condition, create_pod, delete_namespace_pods, node_of, pod,
                     shared_testbed, unique, wait_for)
from training_jobs import GRACE_S, TrainingJobs


def share(bed, value):
    for node in ("training-0", "training-1"):
        bed.api("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {f"{PREFIX}/gpu-sharing": value}}}, expect=(200,))


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(lambda: cls.daemon.stop())

    def share(self, value):
        share(self.bed, value)

    def setUp(self):
        self.share("true")
        self.addCleanup(self.share, None)
        self.namespace = self.bed.create_namespace(unique("parts"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def create_part(self, name, part, gpus=0):
        self.create_asking(name, {f"{PREFIX}/gpu-fraction": part}, gpus)

    def create_asking(self, name, annotations, gpus=0):
        create_pod(self.bed, self.namespace, pod(name, gpus=gpus, pool="training-pool", annotations=annotations))

    def place_of(self, name):
        """(node, device) of a bound pod."""
        wait_for(lambda: node_of(self.bed, self.namespace, name), BOUND_S, f"{name} bound")
        seen = self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}")
        return seen["spec"]["nodeName"], seen["metadata"]["annotations"][f"{PREFIX}/gpu-device"]

    def test_two_halves_share_a_device_and_a_larger_part_takes_another(self):
        places = {}
        for name, part in (("a", "0.5"), ("b", "0.5"), ("c", "0.7"), ("d", "0.3")):
            self.create_part(name, part)
            places[name] = self.place_of(name)
        self.assertEqual(places["a"], places["b"])
        self.assertNotEqual(places["c"], places["a"])
        self.assertEqual(places["d"], places["c"])

    def test_a_part_by_its_memory_shares_a_device_with_enough_memory(self):
        model = self.bed.get("/api/v1/nodes/training-0")["metadata"]["labels"][f"{PREFIX}/gpu-type"]
        self.assertEqual(model, "A100-100G")
        by_memory = {f"{PREFIX}/gpu-memory": "60Gi", f"{PREFIX}/gpu-type": model}  # 0.6
        places = {}
        for name, annotations in (("a", by_memory), ("b", {f"{PREFIX}/gpu-fraction": "0.4"}), ("c", by_memory)):
            self.create_asking(name, annotations)
            places[name] = self.place_of(name)
        self.assertEqual(places["b"], places["a"])
        self.assertNotEqual(places["c"], places["a"])

    def test_devices_are_known_again_without_a_journal(self):
        self.create_part("first", "0.6")
        first = self.place_of("first")
        self.daemon.stop()
        type(self).daemon = Daemon(bed=self.bed).start()  # a folder, and with it a journal, of its own
        self.create_part("second", "0.4")
        self.assertEqual(self.place_of("second"), first)
        self.create_part("elsewhere", "0.1")
        self.assertNotEqual(self.place_of("elsewhere"), first)

    def test_nodes_without_the_label_offer_no_parts(self):
        # The device plugin would give the same card to a pod that requests a whole one.
        self.share(None)
        self.create_part("half", "0.5")

        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/half"), "PodScheduled")
            return found["message"] if found and found["status"] == "False" else ""

        wait_for(lambda: f"do not match {PREFIX}/gpu-sharing=true" in said(), BOUND_S, lambda: f"half has its reason: {said()}")
        self.share("true")
        self.place_of("half")

    def test_an_invalid_part_waits_with_a_reason(self):
        self.create_part("odd", "1.5")

        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/odd"), "PodScheduled")
            return found if found and found["status"] == "False" else None

        self.assertIn("instead of a part of one GPU", wait_for(said, BOUND_S, "odd has a reason to wait")["message"])
        self.assertEqual(bound(self.bed, self.namespace), {})


class PartsForHigherPriority(TrainingJobs, unittest.TestCase):
    """One GPU of the pool is left, and two jobs of low priority share it."""

    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        share(cls.bed, "true")
        cls.addClassCleanup(share, cls.bed, None)
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("parts-for-others"))
        for name, gpus in (("eight", 8), ("seven", 7)):
            self.submit(name, ranks=1, gpus=gpus, priority="high")
            self.wait_placed(name, 1)
        for name in ("one", "other"):
            self.submit(name, ranks=1, gpus=0.5, priority="low")
            self.wait_running(name, 1)
        self.assertEqual(self.places("one"), self.places("other"))

    def places(self, name):
        return {(pod["spec"]["nodeName"], pod["metadata"]["annotations"].get(f"{PREFIX}/gpu-device"))
                for pod in self.pods(name) if pod["spec"].get("nodeName")}

    def test_a_part_of_higher_priority_gets_the_place_of_another(self):
        place = self.places("one")
        self.submit("high", ranks=1, gpus=0.5, priority="high")
        self.wait_placed("high", 1, GRACE_S + BOUND_S)
        self.assertEqual(self.places("high"), place)
        wait_for(lambda: sorted(map(len, map(self.placed, ("one", "other")))) == [0, 1], RUNNING_S,
                 lambda: f"the other part stays: {bound(self.bed, self.namespace)}")

    def test_both_parts_are_evicted_for_a_whole_gpu(self):
        self.submit("high", ranks=1, gpus=1, priority="high")
        self.wait_placed("high", 1, GRACE_S + BOUND_S)
        # The stopped pod is visible until its controller has seen it.
        wait_for(lambda: not self.placed("one") | self.placed("other"), RUNNING_S,
                 lambda: f"both parts are gone: {bound(self.bed, self.namespace)}")
        wait_for(lambda: "preempted by higher-priority job" in self.explanation("one"), BOUND_S, lambda: self.explanation("one"))


if __name__ == "__main__":
    unittest.main()
