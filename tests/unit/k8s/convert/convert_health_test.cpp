// Node health from external monitors: a condition, a label or an annotation.

#include <gtest/gtest.h>

#include "k8s/convert/convert_node.hpp"

namespace gpuctl::k8s {
namespace {

NodeFacts read_health(const std::string& metadata, const std::string& status) {
    const LabelKeys labels{"runwhere.ai", {}, {"GpuUnhealthy", "XidError"}};
    const auto node = read_node(
        R"({"metadata":{"name":"a")" + metadata + R"(},"spec":{},"status":{)" + status + "}}",
        labels);
    EXPECT_TRUE(node);
    return node ? *node : NodeFacts{};
}

std::string conditions(const std::string& type, const std::string& status) {
    return R"("conditions":[{"type":"Ready","status":"True"},{"type":")" + type +
           R"(","status":")" + status + R"("}])";
}

TEST(Health, a_configured_condition_that_is_true_makes_a_node_unhealthy) {
    EXPECT_EQ(read_health("", conditions("XidError", "True")).unhealthy, "XidError");
    EXPECT_EQ(read_health("", conditions("XidError", "False")).unhealthy, "");
    EXPECT_EQ(read_health("", conditions("XidError", "Unknown")).unhealthy, "");
    EXPECT_EQ(read_health("", conditions("MemoryPressure", "True")).unhealthy, "")
        << "other conditions are seen by their taints";
}

TEST(Health, the_label_or_annotation_failed_makes_a_node_unhealthy) {
    EXPECT_EQ(read_health(R"(,"labels":{"runwhere.ai/health":"failed"})", "").unhealthy,
              "marked as failed");
    EXPECT_EQ(
        read_health(R"(,"annotations":{"x/y":"z","runwhere.ai/health":"failed"})", "").unhealthy,
        "marked as failed");
    EXPECT_EQ(read_health(R"(,"labels":{"runwhere.ai/health":"ok"})", "").unhealthy, "");
}

TEST(Health, gpus_of_the_machine_that_are_not_allocatable_are_counted) {
    const auto gpus = [](const char* capacity, const char* allocatable) {
        return read_health("", std::string{R"("capacity":{"cpu":"64","nvidia.com/gpu":")"} +
                                   capacity + R"("},"allocatable":{"cpu":"63","nvidia.com/gpu":")" +
                                   allocatable + R"("})")
            .gpus_unhealthy;
    };
    EXPECT_EQ(gpus("8", "8"), 0);
    EXPECT_EQ(gpus("8", "6"), 2);
    EXPECT_EQ(gpus("8", "0"), 8);
}

}  // namespace
}  // namespace gpuctl::k8s
