// Which kind of GPU a node offers and a pod requests (docs/adr/0021), by discovery labels.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/convert/convert_node.hpp"
#include "k8s/convert/convert_pod.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::json;

constexpr const char* kSliced = "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb";

NodeFacts node(const Json& labels, const Json& offered, const LabelKeys& keys = {}) {
    const Json object = {{"metadata", {{"name", "n"}, {"labels", labels}}},
                         {"status", {{"allocatable", offered}, {"capacity", offered}}}};
    return read_node(object.dump(), keys).value();
}

PodFacts pod(const Json& spec, const Json& annotations = Json::object(),
             const Json& asks = Json::object(), const LabelKeys& keys = {}) {
    Json object = {
        {"metadata",
         {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}, {"annotations", annotations}}},
        {"spec", spec}};
    object["spec"]["schedulerName"] = "gpuctl";
    object["spec"]["containers"] =
        Json::array({{{"name", "main"}, {"resources", {{"requests", asks}}}}});
    PodReadSettings settings;
    settings.labels = keys;
    return read_pod(object.dump(), settings).value().facts;
}

Json affinity(const char* key, const Json& values, const Json& preferred = Json::array()) {
    const Json one = {{"key", key}, {"operator", "In"}, {"values", values}};
    const Json terms = Json::array({{{"matchExpressions", Json::array({one})}}});
    return {{"affinity",
             {{"nodeAffinity",
               {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}},
                {"preferredDuringSchedulingIgnoredDuringExecution", preferred}}}}}};
}

Json prefers(int weight, const char* key, const char* value) {
    const Json one = {{"key", key}, {"operator", "In"}, {"values", Json::array({value})}};
    return {{"weight", weight}, {"preference", {{"matchExpressions", Json::array({one})}}}};
}

const Json kOneGpu = {{"nvidia.com/gpu", "1"}};

TEST(GpuKind, a_gpu_of_a_uniformly_partitioned_node_is_a_slice_and_counts_as_a_slice) {
    const Json labels = {{"nvidia.com/mig.strategy", "single"},
                         {"nvidia.com/gpu.product", kSliced}};
    const NodeFacts sliced = node(labels, {{"nvidia.com/gpu", "14"}});
    EXPECT_EQ(sliced.gpu_model, kSliced);
    EXPECT_EQ(gpus_total(sliced.allocatable), whole_gpus(2));
    EXPECT_TRUE(calls_slices_gpus(sliced.allocatable));
    // In the mixed strategy this name means whole GPUs; slices have their own names.
    const NodeFacts mixed =
        node({{"nvidia.com/mig.strategy", "mixed"}, {"nvidia.com/gpu.product", kSliced}},
             {{"nvidia.com/gpu", "2"}, {"nvidia.com/mig-1g.5gb", "7"}});
    EXPECT_FALSE(calls_slices_gpus(mixed.allocatable));
    EXPECT_EQ(gpus_total(mixed.allocatable), whole_gpus(3));
}

TEST(GpuKind, lost_slices_are_not_reported_as_lost_gpus) {
    const Json object = {
        {"metadata",
         {{"name", "n"},
          {"labels",
           {{"nvidia.com/mig.strategy", "single"}, {"nvidia.com/gpu.product", kSliced}}}}},
        {"status",
         {{"allocatable", {{"nvidia.com/gpu", "7"}}}, {"capacity", {{"nvidia.com/gpu", "14"}}}}}};
    EXPECT_EQ(read_node(object.dump(), {}).value().gpus_unhealthy, 1);
}

TEST(GpuKind, a_pod_requests_slices_only_if_it_names_their_model) {
    EXPECT_TRUE(pod(Json::object(), Json::object(), kOneGpu).rules.wants_whole_gpus);
    EXPECT_FALSE(pod(Json::object()).rules.wants_whole_gpus);
    for (const PodFacts& slice :
         {pod({{"nodeSelector", {{"nvidia.com/gpu.product", kSliced}}}}, Json::object(), kOneGpu),
          pod(affinity("nvidia.com/gpu.product", Json::array({kSliced})), Json::object(), kOneGpu),
          pod(Json::object(), {{"runwhere.ai/gpu-type", kSliced}}, kOneGpu)}) {
        EXPECT_FALSE(slice.rules.wants_whole_gpus);
        EXPECT_EQ(gpus_total(slice.request), GpuMilli{143});
    }
    const PodFacts whole = pod({{"nodeSelector", {{"nvidia.com/gpu.product", "NVIDIA-A100"}}}},
                               Json::object(), kOneGpu);
    EXPECT_TRUE(whole.rules.wants_whole_gpus);
    EXPECT_EQ(gpus_total(whole.request), whole_gpus(1));
}

TEST(GpuKind, the_size_of_a_share_follows_from_the_replicas_of_node_and_pod) {
    const Json offered = {{"nvidia.com/gpu.shared", "16"}};
    EXPECT_EQ(gpus_total(node({{"nvidia.com/gpu.replicas", "4"}}, offered).allocatable),
              whole_gpus(4));
    const LabelKeys eight{"runwhere.ai", {}, {}, 8};
    EXPECT_EQ(gpus_total(node(Json::object(), offered, eight).allocatable), whole_gpus(2));
    EXPECT_EQ(gpus_total(node({{"nvidia.com/gpu.replicas", "x"}}, offered).allocatable),
              whole_gpus(16));
    const Json asks = {{"nvidia.com/gpu.shared", "2"}};
    EXPECT_EQ(gpus_total(pod(Json::object(), Json::object(), asks, eight).request), GpuMilli{250});
    EXPECT_EQ(gpus_total(pod({{"nodeSelector", {{"nvidia.com/gpu.replicas", "4"}}}}, Json::object(),
                             asks, eight)
                             .request),
              GpuMilli{500});
}

TEST(GpuKind, several_models_are_listed_by_annotation) {
    const PodFacts facts = pod(Json::object(), {{"runwhere.ai/gpu-type", "H100, A100"}}, kOneGpu);
    EXPECT_EQ(gpu_models(facts.rules), (std::vector<std::string>{"H100", "A100"}));
    const PodFacts strict = pod(
        Json::object(),
        {{"runwhere.ai/gpu-type", "H100,A100"}, {"runwhere.ai/topology-spread", "host"}}, kOneGpu);
    ASSERT_EQ(strict.unsupported.size(), 1u);
    EXPECT_NE(strict.unsupported[0].find("several GPU models"), std::string::npos);
}

TEST(GpuKind, weights_order_the_required_types) {
    const char* key = "runwhere.ai/gpu-type";
    const Json types = Json::array({"A100", "L40S", "H100"});
    const Json weights = Json::array({prefers(10, key, "L40S"), prefers(80, key, "H100")});
    EXPECT_EQ(gpu_models(pod(affinity(key, types, weights), Json::object(), kOneGpu).rules),
              (std::vector<std::string>{"H100", "L40S", "A100"}));
    // Without weights, or by other labels, no order is known.
    EXPECT_TRUE(gpu_models(pod(affinity(key, types), Json::object(), kOneGpu).rules).empty());
    EXPECT_TRUE(
        gpu_models(pod(affinity("zone", types, weights), Json::object(), kOneGpu).rules).empty());
}

}  // namespace
}  // namespace gpuctl::k8s
