// The harness bites: every planted bug (scheduler/base/planted.hpp) is caught by the simulation,
// and without one the same seeds are clean.

#include <gtest/gtest.h>

#include <string>

#include "bench/simulate/runner.hpp"
#include "scheduler/base/planted.hpp"

namespace gpuctl::bench {
namespace {

RunReport live_with(std::string_view bug, std::uint64_t seeds) {
    EXPECT_TRUE(plant(bug));
    RunOptions options;
    options.last = seeds;
    options.twice_every = 0;
    options.skip_open = true;  // they fail without a bug, too
    const RunReport report = run_seeds(options);
    plant("none");
    return report;
}

class Planted : public testing::TestWithParam<PlantedBugRow> {};

TEST_P(Planted, bug_is_caught) {
    EXPECT_FALSE(live_with(GetParam().name, 3'000).failures.empty()) << GetParam().meaning;
}

INSTANTIATE_TEST_SUITE_P(Every, Planted, testing::ValuesIn(kPlantedBugs),
                         [](const auto& bug) { return std::string{bug.param.name}; });

TEST(PlantedNone, the_same_build_is_clean_without_a_bug) {
    const RunReport report = live_with("none", 60);
    EXPECT_EQ(report.seeds, 60u);
    for (const Failure& failure : report.failures) ADD_FAILURE() << failure.what;
}

}  // namespace
}  // namespace gpuctl::bench
