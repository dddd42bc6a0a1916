#include "scheduler/state/run_times/run_time_history.hpp"
#include "scheduler/base/log2.hpp"

#include <gtest/gtest.h>

#include "scheduler/base/rng.hpp"
#include "scheduler/policy/shortest_first.hpp"

namespace gpuctl {
namespace {

const TenantId kOwner{0};

FinishedRun run(std::int64_t gpus, std::int64_t limit_s, std::int64_t lasted_s) {
    return {whole_gpus(gpus), Duration::seconds(limit_s), Duration::seconds(lasted_s)};
}
RunTimeQuestion question(std::int64_t gpus, std::int64_t limit_s, std::int64_t expected_s = 0) {
    return {kOwner, whole_gpus(gpus), Duration::seconds(limit_s), Duration::seconds(expected_s)};
}

TEST(RunTimeHistory, few_runs_give_no_band_narrower_than_the_limit) {
    RunTimeHistory history;
    EXPECT_EQ(history.predict(question(1, 100)).basis, RunTimeBasis::limit);
    for (int i = 0; i < 8; ++i) history.add_run(kOwner, run(1, 100, 10 + i));
    EXPECT_EQ(history.predict(question(1, 100)).high, Duration::seconds(100));
    EXPECT_EQ(history.predict(question(1, 100)).low, Duration{});
    history.add_run(kOwner, run(1, 100, 18));  // the ninth: 9 of 10 fall below the largest
    const RunTimePrediction nine = history.predict(question(1, 100));
    EXPECT_EQ(nine.high, Duration::seconds(18));
    EXPECT_EQ(nine.low, Duration::seconds(10));
    EXPECT_EQ(nine.likely, Duration::seconds(14));
    EXPECT_EQ(nine.runs, 9);
}

TEST(RunTimeHistory, uses_the_runs_of_the_most_similar_jobs) {
    RunTimeHistory history;
    history.add_run(kOwner, run(1, 100, 10));
    history.add_run(kOwner, run(4, 100, 40));
    history.add_run(kOwner, run(4, 500, 400));
    EXPECT_EQ(history.predict(question(4, 500)).basis, RunTimeBasis::same_job);
    EXPECT_EQ(history.predict(question(4, 500)).likely, Duration::seconds(400));
    EXPECT_EQ(history.predict(question(4, 600)).basis, RunTimeBasis::same_size);
    EXPECT_EQ(history.predict(question(2, 600)).basis, RunTimeBasis::owner_runs);
    EXPECT_EQ(history.predict(question(4, 30)).likely, Duration::seconds(30))
        << "never above the limit";
    EXPECT_EQ(history.predict(question(4, 500, 7)).basis, RunTimeBasis::user);
    EXPECT_EQ(history.predict(question(4, 500, 7)).likely, Duration::seconds(7));
}

// The coverage of the band, measured: eight of ten, for any distribution.
TEST(RunTimeHistory, band_covers_eight_of_ten_runs_of_any_distribution) {
    Rng rng{7};
    const auto draw = [&rng](int kind) {
        if (kind == 0) return rng.between(1, 1'000);                  // uniform
        if (kind == 1) return std::int64_t{1} << rng.between(0, 20);  // over six decades
        return rng.chance(1, 4) ? rng.between(1, 5) : rng.between(50'000, 60'000);  // fails or runs
    };
    for (int kind = 0; kind < 3; ++kind) {
        RunTimeHistory history;
        int inside = 0;
        constexpr int rounds = 20'000;
        for (int i = 0; i < rounds; ++i) {
            const Duration next = Duration::seconds(draw(kind));
            const RunTimePrediction predicted = history.predict(question(1, 2'000'000));
            if (predicted.low <= next && next <= predicted.high) ++inside;
            history.add_run(kOwner, {whole_gpus(1), Duration::seconds(2'000'000), next});
        }
        EXPECT_GE(inside, rounds * 79 / 100) << "distribution " << kind;
        if (kind == 0) {  // and it is no wider than necessary if no two runs are equal
            EXPECT_LE(inside, rounds * 86 / 100);
        }
    }
}

TEST(RunTimeHistory, memory_is_bounded) {
    RunTimeHistory history;
    for (std::uint32_t owner = 0; owner <= RunTimeHistory::kOwnersMax; ++owner) {
        history.add_run(TenantId{owner}, run(1, 100, 10));
    }
    EXPECT_EQ(history.predict({TenantId{0}, whole_gpus(1), {}, {}}).runs, 0)
        << "the owner without runs for the longest time";
    EXPECT_EQ(history.predict({TenantId{1}, whole_gpus(1), {}, {}}).runs, 1);
    for (int i = 0; i < 100; ++i) history.add_run(kOwner, run(1, 100, 10));
    EXPECT_EQ(history.predict(question(1, 100)).runs, 64);
}

TEST(ShortestFirst, logarithms_are_exact_enough) {
    EXPECT_EQ(log2_fixed(0), 0);
    EXPECT_EQ(log2_fixed(1), 0);
    EXPECT_EQ(log2_fixed(1'024), 10 * 65'536);
    EXPECT_NEAR(static_cast<double>(log2_fixed(1'000)) / 65'536, 9.965784, 0.0001);
    EXPECT_NEAR(static_cast<double>(log2_fixed(std::uint64_t{1} << 62) + 1) / 65'536, 62, 0.0001);
    EXPECT_NEAR(static_cast<double>(log2_fixed(3'000'000'000'000)) / 65'536, 41.448086, 0.0001);
}

}  // namespace
}  // namespace gpuctl
