// Variables of collective libraries come from what all nodes of a job's pool say.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/workload/workload.hpp"

namespace gpuctl::k8s {
namespace {

NodeFacts network_node(const std::string& name, std::map<std::string, std::string> labels) {
    NodeFacts node;
    node.name = name;
    node.pool = "train";
    node.gpu_model = "A100";
    node.allocatable.gpus.push_back({"nvidia.com/gpu", GpuMilli{8 * kGpuMilliPerGpu}});
    for (auto& [key, value] : labels) node.labels.insert_or_assign(key, value);
    return node;
}

JobSpec wide_training(const std::string& vendor = "nvidia") {
    JobSpec spec;
    spec.kind = JobKind::training;
    spec.key = {"t", "sft"};
    spec.image = "i";
    spec.pool = "train";
    spec.replicas_min = spec.replicas_max = 2;
    spec.gpu.count = 8;
    spec.gpu.mode = GpuMode::exclusive;
    spec.gpu.vendor = vendor;
    spec.gpu.resource = "nvidia.com/gpu";
    return spec;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

Variables variables_of(const std::vector<NodeFacts>& nodes, const JobSpec& spec) {
    Networks networks;
    for (const NodeFacts& node : nodes) networks.set(node, "runwhere.ai");
    return network_variables(spec, networks.of(spec));
}

TEST(NetworkFacts, variables_are_what_all_nodes_of_the_pool_say) {
    const std::map<std::string, std::string> first = {
        {"runwhere.ai/network-interface", "eth1"},
        {"runwhere.ai/rdma-devices", "mlx5_0.mlx5_1"},
        {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}};
    EXPECT_EQ(variables_of({network_node("a", first), network_node("b", first)}, wide_training()),
              (Variables{{"NCCL_SOCKET_IFNAME", "eth1"},
                         {"GLOO_SOCKET_IFNAME", "eth1"},
                         {"NCCL_IB_HCA", "mlx5_0,mlx5_1"},
                         {"NCCL_P2P_LEVEL", "NVL"}}));
    auto other = first;
    other["runwhere.ai/network-interface"] = "bond0";
    other["nvidia.com/gpu.product"] = "NVIDIA-A100-PCIE-80GB";
    EXPECT_EQ(variables_of({network_node("a", first), network_node("b", other)}, wide_training()),
              (Variables{{"NCCL_SOCKET_IFNAME", "bond0,eth1"}, {"NCCL_IB_HCA", "mlx5_0,mlx5_1"}}));
}

TEST(NetworkFacts, a_node_that_says_nothing_leaves_it_to_the_library) {
    EXPECT_EQ(variables_of({network_node("a", {{"runwhere.ai/network-interface", "eth1"}}),
                            network_node("b", {})},
                           wide_training()),
              Variables{});
    EXPECT_EQ(variables_of({}, wide_training()), Variables{});
}

TEST(NetworkFacts, nodes_that_the_job_cannot_get_do_not_count) {
    NodeFacts other_pool = network_node("b", {});
    other_pool.pool = "other";
    NodeFacts other_model = network_node("c", {});
    other_model.gpu_model = "T4";
    JobSpec spec = wide_training();
    spec.gpu.model = "A100";
    spec.gpu_type = "A100";
    const auto variables = variables_of(
        {network_node("a", {{"runwhere.ai/network-interface", "eth1"}}), other_pool, other_model},
        spec);
    EXPECT_EQ(variables.at(0), (std::pair<std::string, std::string>{"NCCL_SOCKET_IFNAME", "eth1"}));
}

TEST(NetworkFacts, each_vendor_has_the_variables_of_its_library) {
    const auto node = network_node("a", {{"runwhere.ai/network-interface", "eth1"}});
    EXPECT_EQ(variables_of({node}, wide_training("ascend")).at(0).first, "HCCL_SOCKET_IFNAME");
    EXPECT_EQ(variables_of({node}, wide_training("amd")).at(0).first, "NCCL_SOCKET_IFNAME");
    EXPECT_TRUE(variables_of({node}, wide_training("tpu")).empty());
    JobSpec one_gpu = wide_training();
    one_gpu.replicas_max = one_gpu.replicas_min = 1;
    one_gpu.gpu.count = 1;
    EXPECT_TRUE(variables_of({node}, one_gpu).empty());
}

TEST(NetworkFacts, the_users_value_wins_then_that_of_the_pool) {
    JobRecord job;
    job.uid = "u";
    job.spec = wide_training();
    job.spec.environment = {{"NCCL_SOCKET_IFNAME", "mine", ""}};
    WorkloadSettings settings;
    PodDefaults defaults;
    defaults.environment["GLOO_SOCKET_IFNAME"] = "pool";
    settings.pod_defaults = {defaults};
    settings.network = [](const JobSpec&) { return NetworkFacts{{"eth1"}, {"mlx5_0"}, false}; };
    const auto body = workload_body(job, settings);
    ASSERT_TRUE(body.has_value());
    std::map<std::string, std::string> values;
    const auto object = nlohmann::json::parse(*body);
    for (const auto& entry : object["spec"]["template"]["spec"]["containers"][0]["env"]) {
        if (entry.contains("value")) values[entry["name"]] = entry["value"];
    }
    EXPECT_EQ(values["NCCL_SOCKET_IFNAME"], "mine");
    EXPECT_EQ(values["GLOO_SOCKET_IFNAME"], "pool");
    EXPECT_EQ(values["NCCL_IB_HCA"], "mlx5_0");
}

TEST(NetworkFacts, a_pool_without_labels_gets_no_variables) {
    JobRecord job;
    job.uid = "u";
    job.spec = wide_training();
    const auto body = workload_body(job, {});
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ(body->find("NCCL_"), std::string::npos);
}

}  // namespace
}  // namespace gpuctl::k8s
