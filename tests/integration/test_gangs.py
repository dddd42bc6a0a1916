"""Gangs of a Kubernetes user's bare pods: by label and annotation, and by a PodGroup object."""

import unittest

from support import (BOUND_S, POD_GROUP_DIALECTS, PREFIX, Daemon, bound, condition, create_pod, delete_namespace_pods, gpus_per_node,
                     node_of, pod, shared_testbed, unique, wait_for)


class Gangs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon(bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.namespace = self.bed.create_namespace(unique("gangs"))
        self.addCleanup(delete_namespace_pods, self.bed, self.namespace)

    def member(self, gang, index, size, gpus=4):
        return pod(f"{gang}-{index}", gpus=gpus, pool="training-pool", labels={f"{PREFIX}/gang": gang},
                   annotations={f"{PREFIX}/gang-min": str(size)} if size else {})

    def create(self, *bodies):
        for body in bodies:
            create_pod(self.bed, self.namespace, body)

    def wait_bound(self, count):
        wait_for(lambda: len(bound(self.bed, self.namespace)) == count, BOUND_S,
                 lambda: f"{count} pods bound; bound are {bound(self.bed, self.namespace)}")

    def witness(self):
        name = unique("witness")
        self.create(pod(name, gpus=0))
        wait_for(lambda: node_of(self.bed, self.namespace, name), BOUND_S, f"{name} bound")
        self.bed.api("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}", expect=(200,))
        wait_for(lambda: name not in bound(self.bed, self.namespace), BOUND_S, f"{name} gone")

    def test_a_gang_by_label_and_annotation_starts_when_it_is_complete(self):
        self.create(*[self.member("g", index, 4) for index in range(3)])
        self.witness()
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(self.member("g", 3, 4))
        self.wait_bound(4)
        self.assertTrue(all(used <= total for used, total in gpus_per_node(self.bed).values()))

    def test_early_ranks_get_a_new_reason_when_more_ranks_exist(self):
        def message_of(name):
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
            return found["message"] if found else ""

        for there in (1, 2, 3):
            self.create(self.member("late", there - 1, 4))
            for index in range(there):
                wait_for(lambda index=index, there=there: f"its gang has {there} of 4 ranks" in message_of(f"late-{index}"),
                         2 * BOUND_S, lambda index=index, there=there: f"late-{index} with {there}: {message_of(f'late-{index}')}",
                         every_s=0.2)
        gated = self.member("late", 3, 4)
        gated["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
        self.create(gated)
        for index in range(3):
            wait_for(lambda index=index: "1 pod is blocked by scheduling gates" in message_of(f"late-{index}"), 2 * BOUND_S,
                     lambda index=index: f"late-{index}: {message_of(f'late-{index}')}", every_s=0.2)

    def test_a_gang_that_does_not_fit_holds_nothing(self):
        self.create(*[self.member("big", index, 5) for index in range(5)])  # 20 GPUs; the pool has 16

        def said():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/big-0"), "PodScheduled")
            return found and found["status"] == "False"

        wait_for(said, BOUND_S, "the gang's pods say why they wait")
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(*[self.member("fits", index, 4) for index in range(4)])
        self.wait_bound(4)
        self.assertTrue(all(name.startswith("fits-") for name in bound(self.bed, self.namespace)))

    def test_two_gangs_that_fit_only_one_at_a_time_never_share(self):
        for gang in ("x", "y"):
            self.create(*[self.member(gang, index, 3) for index in range(3)])
        self.wait_bound(3)
        self.assertEqual(len({name[0] for name in bound(self.bed, self.namespace)}), 1)

    def test_a_gang_label_without_a_size_is_held_and_says_what_is_missing(self):
        self.create(*[self.member("nameless", index, None, gpus=1) for index in range(2)])

        def message():
            found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/nameless-0"), "PodScheduled")
            return found["message"] if found and found["status"] == "False" else None

        self.assertIn("gang-min", wait_for(message, BOUND_S, "the reason"))
        self.assertEqual(bound(self.bed, self.namespace), {})

    def test_a_gang_by_pod_group_object_of_every_dialect(self):
        links = {"scheduling.x-k8s.io": ("labels", "scheduling.x-k8s.io/pod-group"),
                 "scheduling.volcano.sh": ("annotations", "scheduling.k8s.io/group-name"),
                 "scheduling.run.ai": ("annotations", "pod-group-name")}
        for group, version in POD_GROUP_DIALECTS:
            with self.subTest(group):
                where, key = links[group]
                self.bed.api("POST", f"/apis/{group}/{version}/namespaces/{self.namespace}/podgroups",
                             {"apiVersion": f"{group}/{version}", "kind": "PodGroup", "metadata": {"name": "group"},
                              "spec": {"minMember": 3}}, expect=(201,))
                # Names of their own: the fake kubelets end deleted pods by name, and would end the
                # next ones.
                name = group.split(".")[1]
                members = [pod(f"{name}-{index}", gpus=2, pool="training-pool", **{where: {key: "group"}})
                           for index in range(3)]
                self.create(*members[:2])
                self.witness()
                self.assertEqual(bound(self.bed, self.namespace), {})
                self.create(members[2])
                self.wait_bound(3)
                delete_namespace_pods(self.bed, self.namespace)

    def waiting_message(self, name):
        found = condition(self.bed.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}"), "PodScheduled")
        return found["message"] if found and found["status"] == "False" else ""

    def test_workers_wait_for_their_leader(self):
        def rank(name, role):
            return pod(name, gpus=2, pool="training-pool",
                       labels={f"{PREFIX}/gang": "roles", f"{PREFIX}/gang-role": role},
                       annotations={f"{PREFIX}/gang-roles": "leader=1,worker=2"})

        self.create(*[rank(f"worker-{index}", "worker") for index in range(3)])
        wait_for(lambda: "its gang has 3 of 3 ranks (role leader: 0 of 1)" in self.waiting_message("worker-2"),
                 2 * BOUND_S, lambda: f"why worker-2 waits: {self.waiting_message('worker-2')}")
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(rank("leader", "leader"))
        self.wait_bound(4)
        said = self.daemon.gpuctl("describe", "job", "roles", namespace=self.namespace).stdout
        self.assertRegex(said, r"Roles:\s+leader 1/1, worker 3/2")
        self.assertRegex(said, r"leader\s+.*leader\n")

    def test_pod_groups_that_name_roles(self):
        groups = {"scheduling.volcano.sh": ({"minMember": 3, "minTaskMember": {"leader": 1, "worker": 2}},
                                            "scheduling.k8s.io/group-name", "annotations", "volcano.sh/task-spec"),
                  "scheduling.run.ai": ({"minMember": 3, "subGroups": [{"name": "leader", "minMember": 1},
                                                                       {"name": "worker", "minMember": 2}]},
                                        "pod-group-name", "labels", "kai.scheduler/subgroup-name")}
        versions = dict(POD_GROUP_DIALECTS)
        for group, (spec, link, where, key) in groups.items():
            with self.subTest(group):
                self.bed.api("POST", f"/apis/{group}/{versions[group]}/namespaces/{self.namespace}/podgroups",
                             {"apiVersion": f"{group}/{versions[group]}", "kind": "PodGroup", "metadata": {"name": "roles"},
                              "spec": spec}, expect=(201,))
                name = group.split(".")[1]

                def rank(index, role, name=name, link=link, where=where, key=key):
                    said = {"annotations": {link: "roles"}}
                    said.setdefault(where, {})[key] = role
                    return pod(f"{name}-{role}-{index}", gpus=2, pool="training-pool", **said)

                self.create(*[rank(index, "worker") for index in range(3)])
                wait_for(lambda name=name: "role leader: 0 of 1" in self.waiting_message(f"{name}-worker-2"), 2 * BOUND_S,
                         lambda name=name: f"why {name}-worker-2 waits: {self.waiting_message(f'{name}-worker-2')}")
                self.assertEqual(bound(self.bed, self.namespace), {})
                self.create(rank(0, "leader"))
                self.wait_bound(4)
                delete_namespace_pods(self.bed, self.namespace)

    def test_a_gang_by_the_pod_group_of_kubernetes_itself(self):
        self.bed.api("POST", f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{self.namespace}/podgroups",
                     {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "group"},
                      "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}, expect=(201,))
        members = [pod(f"m-{index}", gpus=2, pool="training-pool", schedulingGroup={"podGroupName": "group"}) for index in range(3)]
        self.create(*members[:2])
        self.witness()
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.create(members[2])
        self.wait_bound(3)

    def test_a_gated_member_does_not_count(self):
        gated = self.member("gated", 1, 2)
        gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        self.create(self.member("gated", 0, 2), gated)
        self.witness()
        self.assertEqual(bound(self.bed, self.namespace), {})
        self.bed.api("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/gated-1", {"spec": {"schedulingGates": None}}, expect=(200,))
        self.wait_bound(2)


if __name__ == "__main__":
    unittest.main()
