// Nodes and PodGroups in the API server's form -> facts for the engine.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/convert/convert_group.hpp"
#include "k8s/convert/convert_node.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::json;

Json basic_node() {
    return Json::parse(R"({
      "metadata": {"name": "n1", "creationTimestamp": "2026-11-20T10:00:00Z",
        "labels": {"runwhere.ai/pool": "train", "nvidia.com/gpu.product": "NVIDIA-A100"}},
      "spec": {"unschedulable": true, "taints": [
        {"key": "k", "value": "v", "effect": "NoSchedule"},
        {"key": "later", "effect": "SomethingNew"}]},
      "status": {"capacity": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"},
        "allocatable": {"cpu": "63", "memory": "500Gi", "pods": "109", "nvidia.com/gpu": "7"},
        "addresses": [{"type": "Hostname", "address": "n1"},
                      {"type": "InternalIP", "address": "10.0.0.5"}],
        "conditions": [{"type": "Ready", "status": "True"}]}})");
}

NodeFacts node_facts(const Json& node) {
    auto facts = read_node(node.dump(), LabelKeys{});
    EXPECT_TRUE(facts.has_value());
    return facts ? *facts : NodeFacts{};
}

TEST(ConvertNode, a_node_offers_its_allocatable_and_never_its_capacity) {
    const NodeFacts node = node_facts(basic_node());
    EXPECT_EQ(node.allocatable.cpu, CpuMilli{63'000});
    EXPECT_EQ(node.allocatable.memory, Bytes{500LL << 30});
    EXPECT_EQ(node.allocatable.pods, 109);
    EXPECT_EQ(gpus_total(node.allocatable), whole_gpus(7));
    Json silent = basic_node();
    silent["status"].erase("allocatable");
    EXPECT_EQ(gpus_total(node_facts(silent).allocatable), whole_gpus(0));
}

TEST(ConvertNode, a_label_marks_a_node_that_is_drained) {
    Json node = basic_node();
    node["metadata"]["uid"] = "u1";
    EXPECT_FALSE(node_facts(node).draining);
    EXPECT_EQ(node_facts(node).uid, "u1");
    node["metadata"]["labels"]["runwhere.ai/drain"] = "true";
    EXPECT_TRUE(node_facts(node).draining);
    node["metadata"]["labels"]["runwhere.ai/drain"] = "false";
    EXPECT_FALSE(node_facts(node).draining);
}

TEST(ConvertNode, an_unhealthy_device_is_not_offered) {
    Json node = basic_node();
    node["status"]["allocatable"]["nvidia.com/gpu"] = "0";
    EXPECT_TRUE(node_facts(node).allocatable.gpus.empty());
}

TEST(ConvertNode, reads_pool_model_taints_and_address) {
    Json node = basic_node();
    const NodeFacts facts = node_facts(node);
    EXPECT_EQ(facts.pool, "train");
    EXPECT_EQ(facts.gpu_model, "NVIDIA-A100");
    EXPECT_TRUE(facts.unschedulable);
    EXPECT_TRUE(facts.ready);
    EXPECT_EQ(facts.address, "10.0.0.5");
    ASSERT_EQ(facts.taints.size(), 1u);
    node["metadata"]["labels"] = {{"gpuctl/gpuType", "V100"}, {"nvidia.com/gpu.product", "x"}};
    EXPECT_EQ(node_facts(node).gpu_model, "V100");
    EXPECT_EQ(node_facts(node).pool, "default");
    node["metadata"]["labels"]["runwhere.ai/gpu-type"] = "A100-80G";
    EXPECT_EQ(node_facts(node).gpu_model, "A100-80G");
}

TEST(ConvertNode, a_heartbeat_leaves_the_fingerprint_alone) {
    std::string scratch;
    Json node = basic_node();
    const auto before = fingerprint(node_facts(node), scratch);
    node["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-20T10:05:00Z";
    node["status"]["images"] = Json::array({{{"sizeBytes", 5}}});
    EXPECT_EQ(fingerprint(node_facts(node), scratch), before);
    node["spec"]["unschedulable"] = false;
    EXPECT_NE(fingerprint(node_facts(node), scratch), before);
}

TEST(ConvertGroup, the_minimum_is_read_from_every_dialect) {
    const LabelKeys keys;
    const auto ranks = [&](const char* text, GangField field) {
        return read_gangs(text, field, keys)->front().size.ranks;
    };
    const char* text = R"({"metadata":{"namespace":"t","name":"g"},"spec":{"minMember":4}})";
    EXPECT_EQ(ranks(text, GangField::min_member), 4);
    const char* upstream = R"({"metadata":{"namespace":"t","name":"g"},
        "spec":{"schedulingPolicy":{"gang":{"minCount":8}}}})";
    EXPECT_EQ(ranks(upstream, GangField::gang_policy), 8);
    const char* basic = R"({"metadata":{"namespace":"t","name":"g"},
        "spec":{"schedulingPolicy":{"basic":{}}}})";
    EXPECT_EQ(ranks(basic, GangField::gang_policy), 0);
    EXPECT_FALSE(read_gangs("{}", GangField::min_member, keys).has_value());
}

}  // namespace
}  // namespace gpuctl::k8s
