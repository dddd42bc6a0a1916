// Random small worlds in which nodes are changed (sim/swarm/node_world.hpp).

#include <gtest/gtest.h>

#include "sim/swarm/node_world.hpp"

namespace gpuctl::sim {
namespace {

TEST(NodeWorld, changes_of_a_node_are_carried_out_one_by_one_and_all_are_answered) {
    NodeProbes sum;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        NodeWorld world{seed};
        world.run(60);
        for (const Violation& wrong : world.violations())
            ADD_FAILURE() << "seed " << seed << ": " << wrong.id << ": " << wrong.what;
        sum.answered += world.probes().answered;
        sum.waited += world.probes().waited;
        sum.sent_again += world.probes().sent_again;
        sum.restarts += world.probes().restarts;
    }
    // The worlds reach what they are to check.
    EXPECT_GT(sum.answered, 500u);
    EXPECT_GT(sum.waited, 200u);
    EXPECT_GT(sum.sent_again, 50u);
    EXPECT_GT(sum.restarts, 50u);
}

}  // namespace
}  // namespace gpuctl::sim
