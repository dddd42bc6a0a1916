// Random worlds in which people change jobs, nodes, pools and quotas (sim/swarm/changes/). For many
// more seeds: ./tools/simulate --changes --seeds A..B

#include <gtest/gtest.h>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::sim {
namespace {

SimulatedRun simulate_changes(std::uint64_t seed) {
    return simulate_seed(seed, kActionsPerRun, nullptr, {}, WorldKind::with_changes);
}

TEST(Changes, accepted_changes_are_carried_out_or_undone_and_nothing_is_lost_over_restarts) {
    ChangeProbes total;
    for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
        const SimulatedRun run = simulate_changes(seed);
        for (const Violation& wrong : run.violations)
            ADD_FAILURE() << "seed " << seed << ": " << wrong.id << " " << wrong.what;
        total += run.changes;
    }
    // The worlds reach what they are to check.
    EXPECT_GT(total.changes_accepted, 20u);
    EXPECT_GT(total.node_changes_answered, 50u);
    EXPECT_GT(total.policies_read_back, 5u);
}

TEST(Changes, the_same_seed_gives_the_same_run_twice_and_another_one_than_the_plain_world) {
    const SimulatedRun first = simulate_changes(700);
    EXPECT_EQ(first.history_hash, simulate_changes(700).history_hash);
    EXPECT_NE(first.history_hash, simulate_seed(700, kActionsPerRun).history_hash);
}

}  // namespace
}  // namespace gpuctl::sim
