// Deterministic simulation: the real engine against the virtual cluster, thousands of steps per
// seed, trouble drawn from the seed. GPUCTL_SIMULATION_SEEDS=N runs more seeds,
// GPUCTL_SIMULATION_FIRST=K begins at another.

#include <cstdlib>

#include "property/simulation_world.hpp"

namespace gpuctl::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr int kMoments = 40;
constexpr Duration kPeace{6 * 3'600'000};

void live_one(std::uint64_t seed, Probes& total) {
    RandomWorld world{seed};
    world.live(kMoments);
    if (world.violations.empty()) {
        world.make_peace();
        world.simulation().run_for(kPeace);
        world.check_end();
    }
    for (const std::string& violation : world.violations) {
        ADD_FAILURE() << "seed " << seed << ": " << violation;
    }
    total.gangs_started += world.probes.gangs_started;
    total.gang_rollbacks += world.probes.gang_rollbacks;
    total.binds_accepted += world.probes.binds_accepted;
    total.binds_turned_down += world.probes.binds_turned_down;
    total.containers_failed += world.probes.containers_failed;
    total.pods_evicted += world.probes.pods_evicted;
    total.pods_deleted += world.probes.pods_deleted;
    total.scheduler_restarts += world.probes.scheduler_restarts;
    total.full_restarts += world.probes.full_restarts;
    total.nodes_lost += world.probes.nodes_lost;
    total.nodes_left += world.probes.nodes_left;
    total.steps += world.probes.steps;
}

TEST(Simulation, invariants_hold_at_every_step_and_after_trouble_every_queue_drains) {
    const std::uint64_t first = from_environment("GPUCTL_SIMULATION_FIRST", 1);
    const std::uint64_t count = from_environment("GPUCTL_SIMULATION_SEEDS", 60);
    Probes total;
    for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
        live_one(seed, total);
    }
    std::printf("%llu seeds, %llu steps, %llu binds\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(total.steps),
                static_cast<unsigned long long>(total.binds_accepted));
    if (testing::Test::HasFailure() || count < 60) return;
    EXPECT_GT(total.gangs_started, 0u);
    EXPECT_GT(total.gang_rollbacks, 0u);
    EXPECT_GT(total.binds_accepted, 0u);
    EXPECT_GT(total.binds_turned_down, 0u);
    EXPECT_GT(total.containers_failed, 0u);
    EXPECT_GT(total.pods_evicted, 0u);
    EXPECT_GT(total.pods_deleted, 0u);
    EXPECT_GT(total.scheduler_restarts, 0u);
    EXPECT_GT(total.full_restarts, 0u);
    EXPECT_GT(total.nodes_lost, 0u);
    EXPECT_GT(total.nodes_left, 0u);
}

TEST(Simulation, the_same_seed_lives_the_same_life_twice) {
    for (std::uint64_t seed = 500; seed < 510; ++seed) {
        RandomWorld first{seed};
        RandomWorld second{seed};
        RandomWorld other{seed + 1'000};
        for (RandomWorld* world : {&first, &second, &other}) world->live(kMoments);
        EXPECT_EQ(first.simulation().history_hash(), second.simulation().history_hash());
        EXPECT_EQ(first.simulation().engine().state_hash(),
                  second.simulation().engine().state_hash());
        EXPECT_EQ(first.simulation().cluster().state_hash(),
                  second.simulation().cluster().state_hash());
        EXPECT_NE(first.simulation().history_hash(), other.simulation().history_hash());
    }
}

// The harness bites: a journal that lost its end is noticed.
TEST(Simulation, a_scheduler_that_forgets_an_acknowledged_job_is_caught) {
    RandomWorld world{77};
    const std::string before = world.simulation().engine().export_state();
    for (int i = 0; i < 5; ++i) world.submit();
    world.check_moment();
    ASSERT_TRUE(world.violations.empty());
    world.simulation().restart_scheduler_from(before);
    world.check_moment();
    EXPECT_FALSE(world.violations.empty());
}

}  // namespace
}  // namespace gpuctl::sim
