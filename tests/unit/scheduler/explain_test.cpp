// What a job is told beyond the sentences of tests/scenario.

#include <gtest/gtest.h>

#include "scheduler/model/reason.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

TEST(Explain, a_node_counts_for_every_resource_it_is_short_of) {
    EngineWorld world;
    NodeFacts small = node("a", 8);
    small.allocatable.cpu = CpuMilli{2'000};
    small.allocatable.memory = Bytes{std::int64_t{2} << 30};
    world.add(small);
    world.add(node("b", 8));
    PodFacts first = pod("first", "first", 8);
    first.request.cpu = CpuMilli{2'000};
    first.node = "a";
    world.add(first);
    PodFacts second = pod("second", "second", 8);
    second.node = "b";
    world.add(second);
    world.add(pod("p", "p", 4));
    world.plan();
    const std::string message = kubernetes_message(world.why("p").front());
    EXPECT_TRUE(
        message.starts_with("0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient "
                            "nvidia.com/gpu. "))
        << message;
}

}  // namespace
}  // namespace gpuctl::test
