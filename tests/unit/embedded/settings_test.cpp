// Nodes of the embedded cluster whose GPUs can be partitioned or shared.

#include "daemon/embedded/settings.hpp"

#include <gtest/gtest.h>

namespace gpuctl::embedded {
namespace {

TEST(EmbeddedNodes, partitioned_gpus_are_offered_as_slices) {
    NodeGroup group;
    group.name = "cut";
    group.gpus = 2;
    group.mig_slices = {"3g.40gb", "2g.20gb", "1g.10gb+me", "1g.10gb"};
    const auto nodes = make_nodes({group}, "runwhere.ai");
    const std::vector<GpuAmount> expected = {{"nvidia.com/mig-1g.10gb", whole_gpus(2)},
                                             {"nvidia.com/mig-1g.10gb.me", whole_gpus(2)},
                                             {"nvidia.com/mig-2g.20gb", whole_gpus(2)},
                                             {"nvidia.com/mig-3g.40gb", whole_gpus(2)}};
    EXPECT_EQ(nodes.at(0).allocatable.gpus, expected);
}

TEST(EmbeddedNodes, shared_gpus_are_offered_as_replicas) {
    NodeGroup group;
    group.name = "shared";
    group.gpus = 2;
    group.gpu_replicas = 4;
    const auto nodes = make_nodes({group}, "runwhere.ai");
    const std::vector<GpuAmount> expected = {{"nvidia.com/gpu.shared", whole_gpus(8), {1, 4}}};
    EXPECT_EQ(nodes.at(0).allocatable.gpus, expected);
    EXPECT_EQ(gpus_total(nodes.at(0).allocatable), whole_gpus(2));
}

}  // namespace
}  // namespace gpuctl::embedded
