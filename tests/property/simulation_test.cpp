// Deterministic simulation: the real engine with the virtual cluster, thousands of steps per seed,
// with faults drawn from the seed (sim/swarm). For many more seeds: ./tools/simulate --seeds A..B

#include <gtest/gtest.h>

#include <string>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::sim {
namespace {

TEST(Simulation, invariants_hold_at_every_step_and_every_queue_drains_after_recovery) {
    // This test also runs under sanitizers; tools/test simulates thousands of seeds without them.
    Probes total;
    for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
        const SimulatedRun run = simulate_seed(seed, kActionsPerRun);
        for (const Violation& violation : run.violations) {
            ADD_FAILURE() << "seed " << seed << ": " << violation.id << " " << violation.what;
        }
        total += run.probes;
    }
    EXPECT_GT(total.plans, 1'000u);
    EXPECT_GT(total.binds_accepted, 300u);
}

TEST(Simulation, the_same_seed_gives_the_same_run_twice) {
    for (std::uint64_t seed = 500; seed < 502; ++seed) {
        RandomWorld first{seed};
        RandomWorld second{seed};
        RandomWorld other{seed + 1'000};
        for (RandomWorld* world : {&first, &second, &other}) world->run(kActionsPerRun);
        EXPECT_EQ(first.simulation().history_hash(), second.simulation().history_hash());
        EXPECT_EQ(first.simulation().engine().state_hash(),
                  second.simulation().engine().state_hash());
        EXPECT_EQ(first.simulation().cluster().state_hash(),
                  second.simulation().cluster().state_hash());
        EXPECT_NE(first.simulation().history_hash(), other.simulation().history_hash());
    }
}

// The checker detects a journal that lost its end. Further tests of the checker: tests/faults.
TEST(Simulation, a_scheduler_that_forgets_an_acknowledged_job_is_caught) {
    RandomWorld world{77};
    const std::string before = world.simulation().engine().export_state();
    for (int i = 0; i < 5; ++i) world.submit();
    world.check_now();
    ASSERT_TRUE(world.violations().empty());
    world.simulation().restart_scheduler_from(before);
    world.check_now();
    EXPECT_FALSE(world.violations().empty());
}

}  // namespace
}  // namespace gpuctl::sim
