// What ended and unfinished run times say about a job that has run for some time.

#include "scheduler/policy/run_time_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/base/rng.hpp"

namespace gpuctl {
namespace {

using Times = std::vector<Duration>;

Duration hours(std::int64_t count) { return Duration::seconds(count * 3'600); }

Duration least(Times ended, Times unfinished, Duration done) {
    RunTimeCurve curve;
    curve.read(ended, unfinished);
    return curve.least_per_end(done);
}

// The Kaplan-Meier estimator by its definition, in floating point: at each end the part of the jobs
// at risk that ends.
double least_by_definition(const Times& ended, const Times& unfinished, Duration done) {
    Times ends = ended;
    std::sort(ends.begin(), ends.end());
    double surviving = 1;
    std::vector<std::pair<double, double>> masses;  // length, part of all runs
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto not_seen = std::count_if(unfinished.begin(), unfinished.end(),
                                            [&](Duration one) { return one >= ends[i]; });
        const auto at_risk = static_cast<double>(ends.size() - i) + static_cast<double>(not_seen);
        const double mass = surviving / at_risk;
        surviving -= mass;
        masses.emplace_back(static_cast<double>(ends[i].ms()), mass);
    }
    const auto at = static_cast<double>(done.ms());
    double beyond = 1;
    for (const auto& [length, mass] : masses) beyond -= length <= at ? mass : 0;
    double best = INFINITY;
    for (const auto& [span_end, unused] : masses) {
        if (span_end <= at) continue;
        double ending = 0;
        double spent = 0;
        for (const auto& [length, mass] : masses) {
            if (length <= at || length > span_end) continue;
            ending += mass;
            spent += mass * (length - at);
        }
        best = std::min(best, (spent + (beyond - ending) * (span_end - at)) / ending);
    }
    return std::isinf(best) ? at : best;
}

TEST(RunTimeCurve, with_ended_runs_only_the_span_with_the_least_time_per_end_counts) {
    const Times runs{hours(1), hours(1), hours(9)};
    // Within an hour two of three end: three hours are spent for two ends.
    EXPECT_NEAR(static_cast<double>(least(runs, {}, {}).ms()), hours(3).ms() / 2.0, 10);
    EXPECT_NEAR(static_cast<double>(least(runs, {}, hours(2)).ms()), hours(7).ms(), 10);
}

TEST(RunTimeCurve, a_job_older_than_all_ended_runs_is_expected_to_take_as_long_again) {
    EXPECT_EQ(least({hours(1)}, {}, hours(5)), hours(5));
    EXPECT_EQ(least({}, {}, hours(5)), hours(5));
    EXPECT_EQ(least({}, {hours(7)}, hours(5)), hours(5));
}

TEST(RunTimeCurve, unfinished_runs_make_long_runs_more_likely) {
    const Times ended{hours(1), hours(1), hours(1), hours(20)};
    const Times unfinished(12, hours(10));
    // Of the jobs that passed two hours one ended, at twenty; twelve other jobs did not within ten.
    EXPECT_LT(least(ended, {}, {}), least(ended, unfinished, {}));
    EXPECT_NEAR(static_cast<double>(least(ended, unfinished, {}).ms()), hours(16).ms() / 3.0, 10);
}

TEST(RunTimeCurve, an_unfinished_run_shorter_than_all_ended_ones_changes_nothing) {
    const Times ended{hours(2), hours(4)};
    EXPECT_EQ(least(ended, {hours(1), hours(1)}, {}), least(ended, {}, {}));
}

TEST(RunTimeCurve, it_agrees_with_the_definition_on_small_samples) {
    Rng rng{7};
    for (int world = 0; world < 2'000; ++world) {
        Times ended(1 + rng.below(9));
        Times unfinished(rng.below(7));
        for (Duration& one : ended) one = Duration::seconds(rng.between(1, 40) * 600);
        for (Duration& one : unfinished) {
            one = Duration::seconds(rng.between(1, 40) * 600);
        }
        const Duration done = Duration::seconds(rng.between(0, 44) * 600);
        const double wanted = least_by_definition(ended, unfinished, done);
        const auto found = static_cast<double>(least(ended, unfinished, done).ms());
        ASSERT_NEAR(found, wanted, 1 + wanted / 10'000) << "world " << world;
    }
}

TEST(RunTimeCurve, the_longest_runs_there_can_be_do_not_overflow) {
    const Duration ages{INT64_MAX / 4};
    EXPECT_GT(least({hours(1), ages, ages}, Times(200, ages), hours(2)), Duration{});
}

}  // namespace
}  // namespace gpuctl
