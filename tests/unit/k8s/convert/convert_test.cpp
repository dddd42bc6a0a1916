// Pods in the API server's form -> facts.

#include <gtest/gtest.h>

#include "k8s/convert/convert_node.hpp"
#include "unit/k8s/convert/convert_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using convert_fixture::basic_pod;
using convert_fixture::facts;
using convert_fixture::Json;
using convert_fixture::read;

std::int64_t gpus(const PodFacts& pod) { return gpus_total(pod.request).value(); }

TEST(ConvertPod, reads_what_the_engine_needs_and_nothing_else) {
    const PodReading reading = read(basic_pod());
    const PodFacts& pod = reading.facts;
    EXPECT_EQ(pod.uid, "u1");
    EXPECT_EQ(to_string(pod.key), "team/a-0");
    EXPECT_TRUE(pod.ours);
    EXPECT_FALSE(pod.gated);
    EXPECT_EQ(pod.job, "pod:a-0");
    EXPECT_EQ(pod.priority, 7);
    EXPECT_EQ(pod.status, "Pending");
    EXPECT_EQ(pod.request.cpu, CpuMilli{500});
    EXPECT_EQ(pod.request.memory, Bytes{1 << 30});
    EXPECT_EQ(pod.request.pods, 1);
    EXPECT_EQ(gpus(pod), 2000);
    EXPECT_EQ(pod.created_at, Instant{1795168800000});
    EXPECT_EQ(reading.generation, 3);
    EXPECT_TRUE(pod.unsupported.empty());
}

TEST(ConvertPod, cut_or_foreign_text_is_an_error_and_never_a_crash) {
    const std::string whole = basic_pod().dump();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(read_pod(whole.substr(0, size), {}).has_value()) << size;
    }
    for (const char* text :
         {"[]", "null", "7", "{\"metadata\":[]}", "{\"metadata\":{\"name\":1}}"}) {
        EXPECT_FALSE(read_pod(text, {}).has_value()) << text;
    }
}

TEST(ConvertPod, members_of_a_wrong_type_read_as_absent) {
    Json pod = basic_pod();
    pod["spec"]["containers"] = "none";
    pod["spec"]["tolerations"] = 5;
    pod["metadata"]["labels"] = Json::array({1, 2});
    pod["status"] = nullptr;
    EXPECT_EQ(gpus(facts(pod)), 0);
}

TEST(ConvertPod, pods_of_other_schedulers_are_counted_where_they_run) {
    Json pod = basic_pod();
    pod["spec"]["schedulerName"] = "default-scheduler";
    pod["spec"]["nodeName"] = "n1";
    EXPECT_FALSE(facts(pod).ours);
    EXPECT_EQ(facts(pod).node, "n1");
    EXPECT_EQ(gpus(facts(pod)), 2000);
}

TEST(ConvertPod, static_and_daemonset_pods_with_a_preset_node_use_capacity) {
    Json pod = basic_pod();
    pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "abc";
    pod["metadata"]["ownerReferences"] =
        Json::array({{{"kind", "Node"}, {"name", "n1"}, {"controller", true}}});
    pod["spec"]["schedulerName"] = "default-scheduler";
    pod["spec"]["nodeName"] = "n1";
    EXPECT_EQ(facts(pod).node, "n1");
    EXPECT_EQ(facts(pod).request.cpu, CpuMilli{500});
}

TEST(ConvertPod, gates_and_deletion_are_read) {
    Json pod = basic_pod();
    pod["spec"]["schedulingGates"] = Json::array({{{"name", "wait"}}});
    EXPECT_TRUE(facts(pod).gated);
    pod["spec"]["schedulingGates"] = Json::array();
    EXPECT_FALSE(facts(pod).gated);
    pod["metadata"]["deletionTimestamp"] = "2026-11-20T10:00:05Z";
    EXPECT_TRUE(facts(pod).terminating);
    EXPECT_EQ(facts(pod).status, "Terminating");
}

TEST(ConvertPod, the_deadline_of_a_pod_is_its_limit) {
    Json pod = basic_pod();
    EXPECT_EQ(facts(pod).run_time_max, Duration{});
    pod["spec"]["activeDeadlineSeconds"] = 3600;
    EXPECT_EQ(facts(pod).run_time_max, Duration::seconds(3600));
    pod["spec"]["activeDeadlineSeconds"] = -5;
    EXPECT_EQ(facts(pod).run_time_max, Duration{});
    pod["spec"]["activeDeadlineSeconds"] = INT64_MAX;
    EXPECT_GT(facts(pod).run_time_max, Duration{});
}

TEST(ConvertPod, device_resources_of_every_vendor_are_requested_from_the_node) {
    Json pod = basic_pod();
    pod["spec"]["containers"][0]["resources"]["requests"] = {
        {"amd.com/gpu", "1"}, {"nvidia.com/mig-1g.10gb", "3"}, {"rdma/hca", "2"}};
    const Resources request = facts(pod).request;
    ASSERT_EQ(request.gpus.size(), 2u);
    EXPECT_EQ(request.gpus[0].resource, "amd.com/gpu");
    EXPECT_EQ(request.gpus[1].amount, GpuMilli{3000});
    ASSERT_EQ(request.extended.size(), 1u);
    EXPECT_EQ(request.extended[0].resource, "rdma/hca");
}

struct RequestCase {
    const char* name;
    const char* spec;    // merged over an empty pod spec
    const char* status;  // merged over an empty status
    std::int64_t cpu_milli;
    std::int64_t memory;
};

// The kubelet's formula for pod requests; rows after component-helpers' resource/helpers_test.go.
const RequestCase kRequestCases[] = {
    {"sum of containers",
     R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}},
                       {"name":"b","resources":{"requests":{"cpu":"250m","memory":"5"}}}]})",
     "{}", 1250, 15},
    {"init containers count by their maximum",
     R"({"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3","memory":"1"}}},
                           {"name":"j","resources":{"requests":{"cpu":"2","memory":"99"}}}],
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}}]})",
     "{}", 3000, 99},
    {"sidecars are added to the containers",
     R"({"initContainers":[{"name":"s","restartPolicy":"Always",
                            "resources":{"requests":{"cpu":"1","memory":"4"}}}],
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}}]})",
     "{}", 2000, 14},
    {"an init container runs together with the sidecars before it, not those after it",
     R"({"initContainers":[
           {"name":"s1","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
           {"name":"i","resources":{"requests":{"cpu":"5"}}},
           {"name":"s2","restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}],
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
     "{}", 6000, 0},
    {"overhead comes on top",
     R"({"overhead":{"cpu":"100m","memory":"7"},
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}}]})",
     "{}", 1100, 17},
    {"pod-level requests override the sum, overhead still on top",
     R"({"resources":{"requests":{"cpu":"4"}},"overhead":{"cpu":"1"},
         "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}}]})",
     "{}", 5000, 10},
    {"a resize under way holds the larger amount",
     R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"10"}}}]})",
     R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"2","memory":"5"}},
         "allocatedResources":{"cpu":"3","memory":"6"}}]})",
     3000, 10},
    {"an infeasible resize is never given",
     R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"9","memory":"10"}}}]})",
     R"({"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}],
         "containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"2","memory":"5"}},
         "allocatedResources":{"cpu":"2","memory":"6"}}]})",
     2000, 6},
    {"an unbound pod cannot have been resized",
     R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
     R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"2"}}}]})", 1000, 0},
    {"numbers instead of strings, decimals rounded up",
     R"({"containers":[{"name":"a","resources":{"requests":{"cpu":0.0005,"memory":1024}}}]})", "{}",
     1, 1024},
    {"limits are not requests",
     R"({"containers":[{"name":"a","resources":{"limits":{"cpu":"4","memory":"10"}}}]})", "{}", 0,
     0},
};

TEST(ConvertPod, requests_follow_the_kubelets_formula) {
    for (const RequestCase& row : kRequestCases) {
        Json pod = basic_pod();
        pod["spec"] = Json::parse(row.spec);
        pod["status"] = Json::parse(row.status);
        const Resources request = facts(pod).request;
        EXPECT_EQ(request.cpu.value(), row.cpu_milli) << row.name;
        EXPECT_EQ(request.memory.value(), row.memory) << row.name;
    }
}

TEST(ConvertPod, absurd_quantities_saturate_and_fit_nowhere) {
    Json pod = basic_pod();
    for (int i = 0; i < 300; ++i) {
        pod["spec"]["containers"].push_back(
            {{"name", "c" + std::to_string(i)},
             {"resources",
              {{"requests", {{"memory", "8Ei"}, {"cpu", "9e18"}, {"nvidia.com/gpu", "9e15"}}}}}});
    }
    const Resources request = facts(pod).request;
    auto node = read_node(
        R"({"metadata":{"name":"n"},"status":{"allocatable":{"memory":"7Ei","cpu":"8e15",
            "nvidia.com/gpu":"9e15"}}})",
        LabelKeys{});
    ASSERT_TRUE(node.has_value());
    EXPECT_GT(request.memory, node->allocatable.memory);
    EXPECT_GT(request.cpu, node->allocatable.cpu);
    EXPECT_GT(gpus_total(request), gpus_total(node->allocatable));
}

TEST(ConvertPod, terms_keep_their_meaning_and_a_broken_term_affects_no_other) {
    Json pod = basic_pod();
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::parse(R"({"nodeSelectorTerms":[
          {},
          {"matchExpressions":[{"key":"a","operator":"In","values":["x","y"]},
                               {"key":"b","operator":"DoesNotExist"}]},
          {"matchExpressions":[{"key":"n","operator":"Gt","values":["five"]}]},
          {"matchExpressions":[{"key":"n","operator":"Gt","values":["5"]}]},
          {"matchExpressions":[{"key":"n","operator":"Near","values":["5"]}]},
          {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},
          {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1","n2"]}]},
          {"matchFields":[{"key":"metadata.uid","operator":"In","values":["n1"]}]}]})");
    const auto terms = facts(pod).rules.required_affinity;
    ASSERT_TRUE(terms.has_value());
    ASSERT_EQ(terms->size(), 8u);
    std::vector<bool> broken;
    for (const SelectorTerm& term : *terms) broken.push_back(term.broken);
    EXPECT_EQ(broken, (std::vector<bool>{false, false, true, false, true, false, true, true}));
    EXPECT_TRUE((*terms)[0].labels.empty());  // matches nothing, which the engine must find out
    EXPECT_EQ((*terms)[1].labels[0].values, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ((*terms)[3].labels[0].op, SelectorOperator::gt);
    EXPECT_EQ((*terms)[5].fields[0].key, "metadata.name");
}

TEST(ConvertPod, an_empty_list_of_terms_is_not_the_same_as_no_affinity) {
    Json pod = basic_pod();
    EXPECT_FALSE(facts(pod).rules.required_affinity.has_value());
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", Json::array()}};
    ASSERT_TRUE(facts(pod).rules.required_affinity.has_value());
    EXPECT_TRUE(facts(pod).rules.required_affinity->empty());
}

TEST(ConvertPod, tolerations_and_node_selectors_come_sorted_and_complete) {
    Json pod = basic_pod();
    pod["spec"]["nodeSelector"] = {{"z", "1"}, {"a", "2"}};
    pod["spec"]["tolerations"] = Json::parse(R"([
      {"operator":"Exists"},
      {"key":"k","value":"v","effect":"NoExecute","tolerationSeconds":5},
      {"key":"n","operator":"Gt","value":"5"}])");
    const PodFacts pod_facts = facts(pod);
    EXPECT_EQ(pod_facts.rules.node_selector.front().first, "a");
    ASSERT_EQ(pod_facts.rules.tolerations.size(), 2u);
    EXPECT_EQ(pod_facts.rules.tolerations[0].op, TolerationOperator::exists);
    EXPECT_FALSE(pod_facts.rules.tolerations[0].effect.has_value());
    EXPECT_EQ(pod_facts.rules.tolerations[1].effect, TaintEffect::no_execute);
    ASSERT_EQ(pod_facts.unsupported.size(), 1u);  // not guessed at
}

TEST(ConvertPod, an_unsupported_feature_is_refused_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}})",
         "required pod anti-affinity"},
        {R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}})",
         "required pod affinity"},
        {R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]})",
         "topology spread with DoNotSchedule"},
        {R"({"resourceClaims":[{"name":"gpu"}]})", "resourceClaims"},
    };
    for (const auto& [spec, feature] : cases) {
        Json pod = basic_pod();
        pod["spec"].merge_patch(Json::parse(spec));
        EXPECT_EQ(facts(pod).unsupported, std::vector<std::string>{feature}) << spec;
    }
}

TEST(ConvertPod, a_feature_that_needs_no_scheduler_is_not_refused) {
    Json pod = basic_pod();
    pod["spec"].merge_patch(Json::parse(R"({
      "affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}],
                                     "requiredDuringSchedulingIgnoredDuringExecution":[]}},
      "topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}],
      "resourceClaims":[]})"));
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

TEST(ConvertPod, a_resource_that_no_node_offers_is_held_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {"deviceclass.resource.kubernetes.io/gpu.lab",
         "the resource deviceclass.resource.kubernetes.io/gpu.lab (allocated by dynamic resource "
         "allocation)"},
        {"nvidia.com/gpumem", "the resource nvidia.com/gpumem (allocated by the HAMi scheduler)"},
        {"nvidia.com/gpumem-percentage",
         "the resource nvidia.com/gpumem-percentage (allocated by the HAMi scheduler)"},
        {"nvidia.com/gpucores",
         "the resource nvidia.com/gpucores (allocated by the HAMi scheduler)"},
    };
    for (const auto& [resource, feature] : cases) {
        Json pod = basic_pod();
        pod["spec"]["containers"][0]["resources"]["requests"][resource] = "1";
        EXPECT_EQ(facts(pod).unsupported, std::vector<std::string>{feature});
    }
    Json pod = basic_pod();
    pod["spec"]["containers"][0]["resources"]["requests"]["rdma/shared_device"] = "1";
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

struct VolumeCase {
    const char* source;
    bool is_taken;
};

// Volumes that bind a pod to nodes in a way that is not evaluated: the pod is held with their name.
TEST(ConvertPod, volume_types_are_accepted_or_held_by_name) {
    const VolumeCase cases[] = {
        {"emptyDir", true},
        {"configMap", true},
        {"secret", true},
        {"projected", true},
        {"hostPath", true},
        {"downwardAPI", true},
        {"nfs", true},
        {"image", true},
        {"gitRepo", true},
        {"csi", true},
        {"cephfs", true},
        {"glusterfs", true},
        {"azureFile", true},
        {"quobyte", true},
        {"ephemeral", false},
        {"iscsi", false},
        {"rbd", false},
        {"gcePersistentDisk", false},
        {"azureDisk", false},
        {"cinder", false},
        {"awsElasticBlockStore", false},
        {"vsphereVolume", false},
        {"of-a-later-kind", false},
    };
    for (const VolumeCase& row : cases) {
        Json pod = basic_pod();
        pod["spec"]["volumes"] = Json::array({{{"name", "v"}, {row.source, Json::object()}}});
        std::vector<std::string> held;
        if (!row.is_taken) held.push_back("volume type " + std::string{row.source});
        EXPECT_EQ(facts(pod).unsupported, held) << row.source;
    }
}

TEST(ConvertPod, claims_are_listed_and_resolved_elsewhere) {
    Json pod = basic_pod();
    pod["spec"]["volumes"] = Json::parse(R"([
        {"name":"a","persistentVolumeClaim":{"claimName":"models"}},
        {"name":"b","persistentVolumeClaim":{"claimName":"data","readOnly":true}},
        {"name":"c","persistentVolumeClaim":{"claimName":"models"}}])");
    EXPECT_EQ(read(pod).claims, (std::vector<std::string>{"data", "models"}));
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

// The API server sets hostPort on every containerPort of a hostNetwork pod.
TEST(ConvertPod, host_ports_are_those_of_containers_that_run_together) {
    Json pod = basic_pod();
    pod["spec"].merge_patch(Json::parse(R"({
      "initContainers":[{"name":"i","ports":[{"containerPort":1,"hostPort":1}]},
                        {"name":"s","restartPolicy":"Always",
                         "ports":[{"containerPort":2,"hostPort":2,"protocol":"UDP"}]}],
      "containers":[{"name":"a","ports":[{"containerPort":2222,"hostPort":2222},
                                         {"containerPort":9},
                                         {"containerPort":80,"hostPort":80,"hostIP":"10.0.0.1"}]},
                    {"name":"b","ports":[{"containerPort":2222,"hostPort":2222,"hostIP":"0.0.0.0"},
                                         {"containerPort":7,"hostPort":-4}]}]})"));
    const std::vector<HostPort> expected = {
        {"TCP", 80, "10.0.0.1"}, {"TCP", 2222, "0.0.0.0"}, {"UDP", 2, "0.0.0.0"}};
    EXPECT_EQ(facts(pod).request.host_ports, expected);
    EXPECT_TRUE(facts(pod).unsupported.empty());
    pod["spec"]["schedulerName"] = "default-scheduler";
    pod["spec"]["nodeName"] = "n1";
    EXPECT_EQ(facts(pod).request.host_ports, expected) << "whatever scheduler placed it";
}

TEST(ConvertPod, preemptibility_and_its_cost_are_read_from_the_pod) {
    Json pod = basic_pod();
    pod["spec"]["priority"] = 500'000;
    pod["spec"]["terminationGracePeriodSeconds"] = 45;
    EXPECT_FALSE(facts(pod).preemptible);
    EXPECT_TRUE(facts(pod).preempts);
    EXPECT_EQ(facts(pod).stop_grace, Duration::seconds(45));
    pod["metadata"]["annotations"] = {{"runwhere.ai/preemptible", "true"},
                                      {"runwhere.ai/checkpoint-interval-seconds", "600"},
                                      {"runwhere.ai/restart-cost-seconds", "30"}};
    EXPECT_TRUE(facts(pod).preemptible);
    EXPECT_EQ(facts(pod).checkpoint_interval, Duration::seconds(600));
    EXPECT_EQ(facts(pod).restart_cost, Duration::seconds(30));
    // A pod without a preemptibility label is preemptible when its priority is low.
    pod["metadata"]["annotations"] = Json::object();
    pod["spec"]["priority"] = 100;
    pod["spec"]["preemptionPolicy"] = "Never";
    EXPECT_TRUE(facts(pod).preemptible);
    EXPECT_FALSE(facts(pod).preempts);
    pod["metadata"]["annotations"]["runwhere.ai/preemptible"] = "false";
    EXPECT_FALSE(facts(pod).preemptible);
}

// The pool decides whether it may be preempted for higher priority (ADR 0029).
TEST(ConvertPod, an_unset_preemptibility_differs_from_no) {
    Json pod = basic_pod();
    pod["spec"]["priority"] = 1'000;
    EXPECT_TRUE(facts(pod).preemptible_is_default);
    EXPECT_FALSE(facts(pod).preemptible);
    pod["metadata"]["annotations"]["runwhere.ai/preemptible"] = "false";
    EXPECT_FALSE(facts(pod).preemptible_is_default);
    pod["metadata"]["annotations"]["runwhere.ai/preemptible"] = "true";
    EXPECT_FALSE(facts(pod).preemptible_is_default);
}

TEST(ConvertPod, a_pod_that_is_not_always_restarted_runs_to_an_end) {
    Json pod = basic_pod();
    for (const auto& [policy, ends] :
         {std::pair{"Never", true}, std::pair{"OnFailure", true}, std::pair{"Always", false}}) {
        pod["spec"]["restartPolicy"] = policy;
        EXPECT_EQ(facts(pod).runs_to_end, ends) << policy;
    }
}

TEST(ConvertPod, the_status_is_what_the_first_container_waits_for) {
    const auto status_of = [](const char* status, bool deleting = false) {
        Json pod = basic_pod();
        pod["status"] = Json::parse(status);
        if (deleting) pod["metadata"]["deletionTimestamp"] = "2026-11-20T10:00:05Z";
        return facts(pod).status;
    };
    EXPECT_EQ(status_of(R"({"phase":"Running"})"), "Running");
    EXPECT_EQ(status_of(R"({"phase":"Running"})", true), "Terminating");
    EXPECT_EQ(status_of(R"({"phase":"Pending","containerStatuses":[{"name":"main",
        "state":{"waiting":{"reason":"ImagePullBackOff"}}}]})"),
              "ImagePullBackOff");
    EXPECT_EQ(status_of(R"({"phase":"Pending","containerStatuses":[{"name":"main",
        "state":{"waiting":{"reason":"SomeNewBackOff"}}}]})"),
              "BackOff");
    EXPECT_EQ(status_of(R"({"phase":"Failed","containerStatuses":[{"name":"main",
        "state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]})"),
              "OOMKilled");
    EXPECT_EQ(status_of(R"({"phase":"Pending","initContainerStatuses":[{"name":"i",
        "state":{"waiting":{"reason":"ErrImagePull"}}}],"containerStatuses":[{"name":"main",
        "state":{"waiting":{"reason":"PodInitializing"}}}]})"),
              "ErrImagePull");
}

TEST(ConvertPod, times_follow_the_phase) {
    Json pod = basic_pod();
    pod["status"] = Json::parse(R"({"phase":"Succeeded","startTime":"2026-11-20T10:00:01Z",
      "containerStatuses":[{"name":"main","restartCount":2,"state":{"terminated":{"exitCode":0,
      "startedAt":"2026-11-20T10:00:10Z","finishedAt":"2026-11-20T10:01:00Z"}}}]})");
    const PodFacts done = facts(pod);
    EXPECT_EQ((done.finished_at - done.started_at).ms(), 50'000);
    EXPECT_EQ(done.restarts, 2);
    EXPECT_EQ(done.phase, PodPhase::succeeded);
    pod["status"] = Json::parse(R"({"phase":"Failed","reason":"OutOfcpu"})");
    EXPECT_TRUE(facts(pod).finished_at.happened());  // the kubelet refused it at once
}

TEST(ConvertPod, an_update_that_changes_nothing_for_us_has_the_same_fingerprint) {
    std::string scratch;
    Json pod = basic_pod();
    const auto before = fingerprint(facts(pod), scratch);
    pod["metadata"]["resourceVersion"] = "99";
    pod["metadata"]["managedFields"].push_back({{"manager", "y"}});
    pod["metadata"]["annotations"]["note"] = "x";
    pod["status"]["conditions"] = Json::array({{{"type", "PodScheduled"}, {"status", "False"}}});
    EXPECT_EQ(fingerprint(facts(pod), scratch), before);
    EXPECT_TRUE(read(pod).stored_unscheduled);
    EXPECT_FALSE(read(pod).stored_since.happened());
    pod["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-20T10:00:00Z";
    EXPECT_EQ(read(pod).stored_since, Instant{1'795'168'800'000});
    EXPECT_EQ(fingerprint(facts(pod), scratch), before);
    pod["spec"]["nodeName"] = "n1";
    EXPECT_NE(fingerprint(facts(pod), scratch), before);
}

}  // namespace
}  // namespace gpuctl::k8s
