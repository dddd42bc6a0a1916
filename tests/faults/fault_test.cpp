// Mutation test of the checker: the simulation catches every seeded fault
// (scheduler/base/seeded_faults.hpp), and the same seeds are clean without a fault.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulate/decisions.hpp"
#include "bench/simulate/faults_of_changes.hpp"
#include "bench/simulate/runner.hpp"
#include "bench/simulate/witness_seeds.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "sim/swarm/node_world.hpp"
#include "sim/swarm/pause_world.hpp"

namespace gpuctl::bench {
namespace {

RunReport run_with_fault(std::string_view fault, std::uint64_t first, std::uint64_t last) {
    EXPECT_TRUE(select_fault(fault));
    RunOptions options;
    options.first = first;
    options.last = last;
    options.twice_every = 0;
    options.skip_open = true;  // open seeds fail without a fault, too
    const RunReport report = run_seeds(options);
    select_fault("none");
    return report;
}

bool is_caught(std::string_view fault, std::uint64_t first, std::uint64_t last) {
    return !run_with_fault(fault, first, last).failures.empty();
}

bool is_caught_by_its_witness(std::string_view fault) {
    return std::any_of(std::begin(kWitnessSeeds), std::end(kWitnessSeeds),
                       [fault](const auto& each) {
                           return each.fault == fault && is_caught(fault, each.seed, each.seed);
                       });
}

// Faults that only worlds with pauses show. Another fault may keep such a world from coming to
// rest.
constexpr std::string_view kFaultsOfPauses[]{
    "keep_no_seats",     "seats_cost_nothing",   "keep_seats_after_release",
    "place_paused_jobs", "forget_seats_on_disk", "take_stale_changes"};

// Faults that only worlds with changes of nodes show.
constexpr std::string_view kFaultsOfNodes[]{"forget_open_node_changes",
                                            "send_node_changes_together"};

bool is_caught_by_pauses(std::string_view fault) {
    EXPECT_TRUE(select_fault(fault));
    bool is_caught = false;
    for (std::uint64_t seed = 1; seed <= 60 && !is_caught; ++seed) {
        sim::PauseWorld world{seed};
        world.run(40);
        is_caught = !world.violations().empty();
    }
    select_fault("none");
    return is_caught;
}

bool is_caught_by_nodes(std::string_view fault) {
    EXPECT_TRUE(select_fault(fault));
    bool is_caught = false;
    for (std::uint64_t seed = 1; seed <= 40 && !is_caught; ++seed) {
        sim::NodeWorld world{seed};
        world.run(60);
        is_caught = !world.violations().empty();
    }
    select_fault("none");
    return is_caught;
}

class SeededFaults : public testing::TestWithParam<SeededFaultRow> {};

TEST_P(SeededFaults, fault_is_caught) {
    const std::string_view fault = GetParam().name;
    if (std::ranges::count(kFaultsOfPauses, fault) > 0) {
        EXPECT_TRUE(is_caught_by_pauses(fault)) << GetParam().meaning;
    } else if (std::ranges::count(kFaultsOfNodes, fault) > 0) {
        EXPECT_TRUE(is_caught_by_nodes(fault)) << GetParam().meaning;
    } else {
        EXPECT_TRUE(is_caught_by_its_witness(fault) || is_caught(fault, 1, 3'000))
            << GetParam().meaning;
    }
}

std::vector<SeededFaultRow> faults_that_are_looked_for() {
    std::vector<SeededFaultRow> out;
    for (const SeededFaultRow& row : kSeededFaults) {
        if (is_looked_for(row.name)) out.push_back(row);
    }
    return out;
}

INSTANTIATE_TEST_SUITE_P(Every, SeededFaults, testing::ValuesIn(faults_that_are_looked_for()),
                         [](const auto& fault) { return std::string{fault.param.name}; });

TEST(NoSeededFault, the_same_build_is_clean_without_a_fault) {
    const RunReport report = run_with_fault("none", 1, 60);
    EXPECT_EQ(report.seeds, 60u);
    for (const Failure& failure : report.failures) ADD_FAILURE() << failure.what;
}

TEST(Decisions, a_block_with_a_seed_that_was_not_simulated_is_not_listed) {
    RunOptions options;
    options.first = 11;
    RunReport report;
    report.decisions_by_seed = {1, 2, 0, 4, 5, 6, 7};
    const DecisionList list = list_decisions(options, report, 2);
    ASSERT_EQ(list.blocks.size(), 3u);
    EXPECT_EQ(list.blocks[0].seeds, "11..12");
    EXPECT_EQ(list.blocks[1].seeds, "15..16");
    EXPECT_EQ(list.blocks[2].seeds, "17..17");
    EXPECT_EQ(list.left_out, 1u);
    EXPECT_EQ(list.first_missing, 13u);
    EXPECT_EQ(missing_text(list, options, report),
              "seed 13 was not simulated; its block of decisions is not listed\n");
    report.decisions_by_seed = {1, 2};
    EXPECT_EQ(missing_text(list_decisions(options, report, 2), options, report), "");
}

TEST(Decisions, of_a_run_that_stops_at_a_violation_are_listed_up_to_there) {
    ASSERT_TRUE(select_fault("skip_queue_maximum"));
    RunOptions options;
    options.last = 1'000;
    options.list_decisions = true;
    const RunReport report = run_seeds(options);
    select_fault("none");
    ASSERT_EQ(report.failures.size(), 1u);
    const Failure& failure = report.failures.front();
    const DecisionList list = list_decisions(options, report, 1);
    std::set<std::string> hashes;
    for (const DecisionBlock& block : list.blocks) hashes.insert(block.hash);
    EXPECT_EQ(list.blocks.size(), failure.seed);
    EXPECT_EQ(hashes.size(), failure.seed) << "no hash of nothing";
    EXPECT_EQ(list.left_out, 1'000 - failure.seed);
    EXPECT_EQ(list.first_missing, failure.seed + 1);
    const std::string text = missing_text(list, options, report);
    EXPECT_TRUE(text.starts_with("stopped at seed " + std::to_string(failure.seed) + ", step "))
        << text;
}

}  // namespace
}  // namespace gpuctl::bench
