// Racks and other topology domains: labels of nodes, and requirements of pods.

#include <gtest/gtest.h>

#include "k8s/convert/convert_node.hpp"
#include "k8s/convert/convert_pod.hpp"

namespace gpuctl::k8s {
namespace {

NodeTopology topology_of(const std::string& labels, const LabelKeys& keys = LabelKeys{}) {
    const auto node = read_node(R"({"metadata":{"name":"n1","labels":{)" + labels + "}}}", keys);
    EXPECT_TRUE(node.has_value());
    return node->topology;
}

PodFacts asks(const std::string& annotations,
              const std::string& labels = R"("runwhere.ai/gang":"g")",
              const std::string& owners = "") {
    const auto pod =
        read_pod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{)" + labels +
                     R"(},"ownerReferences":[)" + owners + R"(],"annotations":{)" + annotations +
                     R"(}},"spec":{"schedulerName":"gpuctl","containers":[]}})",
                 PodReadSettings{});
    EXPECT_TRUE(pod.has_value());
    return pod->facts;
}

TEST(ConvertTopology,
     the_place_of_a_node_is_read_from_labels_and_racks_are_numbered_within_their_block) {
    const NodeTopology both =
        topology_of(R"("runwhere.ai/rack":"7","cloud.google.com/gce-topology-block":"b2")");
    EXPECT_EQ(both.rack, "b2/7");
    EXPECT_EQ(both.block, "b2");
    EXPECT_EQ(both.host, "n1");
    EXPECT_EQ(topology_of(R"("nvidia.com/gpu.clique":"u.3")").nvlink, "u.3");
    EXPECT_EQ(topology_of("").rack, "");
}

TEST(ConvertTopology, our_own_label_wins_over_configured_ones) {
    EXPECT_EQ(topology_of(R"("topology.kubernetes.io/rack":"x","runwhere.ai/rack":"y")").rack, "y");
    TopologyKeys keys;
    keys.rack = {"example.org/row"};
    const LabelKeys configured{"runwhere.ai", keys};
    EXPECT_EQ(
        topology_of(R"("example.org/row":"r","topology.kubernetes.io/rack":"x")", configured).rack,
        "r");
}

TEST(ConvertTopology, a_pod_requests_a_level_by_name_or_by_label) {
    const TopologyRules ours =
        asks(R"("runwhere.ai/required-topology":"block","runwhere.ai/preferred-topology":"rack",)"
             R"("runwhere.ai/topology-spread":"kubernetes.io/hostname")")
            .rules.topology;
    EXPECT_EQ(ours,
              (TopologyRules{TopologyLevel::block, TopologyLevel::rack, TopologyLevel::host}));
    const TopologyRules kueues =
        asks(R"("kueue.x-k8s.io/podset-required-topology":"cloud.google.com/gce-topology-block")")
            .rules.topology;
    EXPECT_EQ(kueues.required, TopologyLevel::block);
}

TEST(ConvertTopology, a_rule_that_cannot_be_followed_is_reported) {
    const auto problem = [](const PodFacts& pod) {
        return pod.unsupported.empty() ? std::string{} : pod.unsupported[0];
    };
    EXPECT_NE(
        problem(asks(R"("runwhere.ai/required-topology":"row")")).find("is \"row\", not host"),
        std::string::npos);
    EXPECT_NE(problem(asks(R"("runwhere.ai/required-topology":"rack",)"
                           R"("runwhere.ai/topology-spread":"rack")"))
                  .find("spread must name a level inside it"),
              std::string::npos);
    // Several pods that start one by one: the first would decide for all.
    EXPECT_NE(problem(asks(R"("runwhere.ai/required-topology":"rack")", "",
                           R"({"kind":"StatefulSet","name":"s","controller":true})"))
                  .find("that are not a gang"),
              std::string::npos);
    EXPECT_EQ(problem(asks(R"("runwhere.ai/required-topology":"rack")", "")), "");
}

}  // namespace
}  // namespace gpuctl::k8s
