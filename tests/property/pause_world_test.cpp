// Random small worlds in which jobs are changed, paused and resumed (sim/swarm/pause_world.hpp).

#include <gtest/gtest.h>

#include "sim/swarm/pause_world.hpp"

namespace gpuctl::sim {
namespace {

TEST(PauseWorld, no_step_of_a_random_world_breaks_an_invariant) {
    PauseProbes sum;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        PauseWorld world{seed};
        world.run(40);
        for (const Violation& wrong : world.violations())
            ADD_FAILURE() << "seed " << seed << ": " << wrong.id << ": " << wrong.what;
        sum.pauses += world.probes().pauses;
        sum.seats += world.probes().seats;
        sum.resumes_in_seats += world.probes().resumes_in_seats;
        sum.stale_changes += world.probes().stale_changes;
    }
    // The worlds reach what they are to check.
    EXPECT_GT(sum.pauses, 200u);
    EXPECT_GT(sum.seats, 20u);
    EXPECT_GT(sum.resumes_in_seats, 5u);
    EXPECT_GT(sum.stale_changes, 20u);
}

}  // namespace
}  // namespace gpuctl::sim
