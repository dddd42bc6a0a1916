// The sizes with the largest marginal speedup: arithmetic over small cases that can be checked by
// hand.

#include "scheduler/plan/elastic/sizes_by_speedup.hpp"

#include <gtest/gtest.h>

namespace gpuctl::test {
namespace {

using Speeds = std::vector<SizeSpeed>;

const Speeds kLinear{{1, 1'000}, {2, 2'000}, {4, 4'000}, {8, 8'000}};
const Speeds kSteps{{1, 1'000}, {2, 1'100}, {4, 4'000}};
constexpr Duration kHorizon = Duration::seconds(300);

SizeChoice choice(const Speeds& speeds, std::int64_t left_s, std::int32_t now) {
    SizeChoice out;
    out.speeds = &speeds;
    out.each = whole_gpus(1);
    out.left = Duration::seconds(left_s);
    out.restart_again = Duration::seconds(30);
    out.now = now;
    out.least = 1;
    out.most = speeds.back().ranks;
    return out;
}

std::vector<std::int32_t> aims(std::vector<SizeChoice> jobs, std::int64_t gpus) {
    weigh_work(jobs, whole_gpus(gpus));
    choose_sizes(jobs, whole_gpus(gpus), kHorizon);
    std::vector<std::int32_t> out;
    for (const SizeChoice& job : jobs) out.push_back(job.aim);
    return out;
}

using Aims = std::vector<std::int32_t>;

TEST(SizesByGain, the_shorter_job_gets_ranks_first) {
    EXPECT_EQ(aims({choice(kLinear, 9'000, 1), choice(kLinear, 900, 1)}, 9), (Aims{1, 8}));
}

TEST(SizesByGain, a_small_step_that_gains_little_does_not_hide_a_large_one_that_gains_much) {
    EXPECT_EQ(aims({choice(kSteps, 1'000, 1)}, 4), Aims{4});
    EXPECT_EQ(aims({choice(kSteps, 1'000, 1)}, 3), Aims{1});  // 1.1 times does not pay a restart
}

TEST(SizesByGain, a_change_that_does_not_pay_within_the_horizon_is_not_made) {
    const Speeds little{{4, 1'000}, {8, 1'110}};
    const Speeds enough{{4, 1'000}, {8, 1'112}};
    SizeChoice job = choice(little, 100'000, 4);
    job.least = 4;
    EXPECT_EQ(aims({job}, 8), Aims{4});
    job.speeds = &enough;  // 270 s of 300 are left for work: 1.1112 times are needed
    EXPECT_EQ(aims({job}, 8), Aims{8});
}

TEST(SizesByGain, a_longer_job_shrinks_for_a_shorter_one_and_not_the_reverse) {
    EXPECT_EQ(aims({choice(kLinear, 9'000, 8), choice(kLinear, 500, 1)}, 9), (Aims{1, 8}));
    EXPECT_EQ(aims({choice(kLinear, 500, 8), choice(kLinear, 9'000, 1)}, 9), (Aims{8, 1}));
}

// Two equal jobs on eight GPUs: a second of work of the longer one is worth the eighth of a second
// that it takes. Until the shorter one ends two jobs wait, and that ends soonest with all of the
// room.
TEST(SizesByGain, the_worth_of_work_follows_from_the_best_division) {
    const Speeds each{{1, 1'000}, {2, 2'000}, {3, 3'000}, {4, 4'000},
                      {5, 5'000}, {6, 6'000}, {7, 7'000}, {8, 8'000}};
    std::vector<SizeChoice> jobs{choice(each, 2'000, 1), choice(each, 1'000, 1)};
    weigh_work(jobs, whole_gpus(8));
    constexpr std::int64_t second = std::int64_t{1} << 20;
    EXPECT_EQ(jobs[0].worth, second / 8);
    EXPECT_EQ(jobs[1].worth, second / 4) << "with all eight: 2 / 8 is less than (2 - 1/8) / 7";
}

TEST(SizesByGain, a_higher_priority_chooses_first_whatever_it_gains) {
    SizeChoice high = choice(kLinear, 90'000, 1);
    high.priority = 10;
    EXPECT_EQ(aims({choice(kLinear, 900, 1), high}, 9), (Aims{1, 8}));
}

TEST(SizesByGain, a_size_that_is_not_in_the_curve_is_kept_or_left_and_never_chosen) {
    SizeChoice job = choice(kLinear, 9'000, 5);
    EXPECT_EQ(aims({job}, 5), Aims{5});
    EXPECT_EQ(aims({job}, 7), Aims{5});
    EXPECT_EQ(aims({job}, 8), Aims{8});
}

TEST(SizesByGain, jobs_of_fixed_size_keep_it_and_the_others_share_the_rest) {
    SizeChoice fixed = choice(kLinear, 100, 2);
    fixed.least = fixed.most = 2;
    EXPECT_EQ(aims({fixed, choice(kLinear, 9'000, 1)}, 10), (Aims{2, 8}));
}

TEST(SizesByGain, ranks_of_several_gpus_cost_all_of_their_gpus) {
    SizeChoice wide = choice(kLinear, 1'000, 1);
    wide.each = whole_gpus(4);
    EXPECT_EQ(aims({wide, choice(kLinear, 1'000, 1)}, 12), (Aims{1, 8}));
}

}  // namespace
}  // namespace gpuctl::test
