// Budgets of GPU time: periods, used and committed amounts, and a restart loses nothing.

#include <gtest/gtest.h>

#include "scheduler/base/rng.hpp"
#include "scheduler/queue/spending.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

constexpr Duration kHour = Duration::seconds(3600);

Instant utc(std::int64_t days, std::int64_t hours = 0) {
    return Instant{} + kDay * days + kHour * hours;
}

GpuTime gpu_hours(std::int64_t hours) { return GpuTime{hours * kGpuTimePerGpuHour}; }

BudgetPolicy budget(std::int64_t hours, Duration period, Instant anchor = Instant{}) {
    return {gpu_hours(hours), period, anchor, {}};
}

TEST(BudgetPeriod, weeks_begin_on_monday_and_months_on_their_first_day) {
    // 2026-11-22 is a Sunday, 20779 days after 1970-01-01.
    const Instant sunday = utc(20'779, 15);
    const Period week = period_at(budget(1, kWeek, kFirstMonday), sunday);
    EXPECT_EQ(format_utc(week.begin), "2026-11-16 00:00 UTC");
    EXPECT_EQ(format_utc(week.end), "2026-11-23 00:00 UTC");
    const Period month = period_at(budget(1, Duration{}), sunday);
    EXPECT_EQ(format_utc(month.begin), "2026-11-01 00:00 UTC");
    EXPECT_EQ(format_utc(month.end), "2026-12-01 00:00 UTC");
    EXPECT_EQ(format_utc(period_at(budget(1, Duration{}), utc(20'802)).end),
              "2027-01-01 00:00 UTC");
    EXPECT_EQ(period_in_words(budget(1, kWeek, kFirstMonday), week), "this week");
}

TEST(BudgetPeriod, spans_are_counted_from_their_anchor_in_both_directions) {
    const BudgetPolicy policy = budget(1, kDay * 10, utc(105));
    EXPECT_EQ(period_at(policy, utc(105)), (Period{utc(105), utc(115)}));
    EXPECT_EQ(period_at(policy, utc(114, 23)), (Period{utc(105), utc(115)}));
    EXPECT_EQ(period_at(policy, utc(104, 23)), (Period{utc(95), utc(105)}));
}

TEST(BudgetPeriod, gpu_hours_are_printed_as_people_write_them) {
    EXPECT_EQ(format_gpu_hours(gpu_hours(480)), "480");
    EXPECT_EQ(format_gpu_hours(GpuTime{kGpuTimePerGpuHour / 8}), "0.125");
    EXPECT_EQ(format_gpu_hours(GpuTime{kGpuTimePerGpuHour * 5 / 4}), "1.3");
    EXPECT_EQ(format_gpu_hours(GpuTime{} - gpu_hours(2)), "-2");
    EXPECT_EQ(format_gpu_hours(GpuTime{1}, RoundHours::up), "0.001");
    EXPECT_EQ(format_gpu_hours(gpu_hours(8) + GpuTime{1}, RoundHours::up), "8.1");
    EXPECT_EQ(format_gpu_hours(gpu_hours(8) - GpuTime{1}, RoundHours::down), "7.9");
    EXPECT_EQ(format_gpu_hours(gpu_hours(8) - GpuTime{1}, RoundHours::up), "8");
    EXPECT_EQ(format_gpu_hours(GpuTime{} - gpu_hours(8) + GpuTime{1}, RoundHours::down), "-8");
    EXPECT_EQ(format_gpu_hours(GpuTime{kGpuTimePerGpuHour - 1}, RoundHours::down), "0.999");
}

TEST(Spending, committed_time_becomes_used_time_as_time_passes) {
    const BudgetPolicy policy = budget(100, kDay);
    Spending spending{policy, utc(1)};
    spending.hold(whole_gpus(4), utc(1, 10), utc(1));
    spending.hold(whole_gpus(1), Instant{}, utc(1));
    EXPECT_EQ(spending.used(utc(1)), GpuTime{});
    EXPECT_EQ(spending.committed(utc(1)), gpu_hours(40 + 24));
    EXPECT_EQ(spending.used(utc(1, 5)), gpu_hours(25));
    EXPECT_EQ(spending.committed(utc(1, 5)), gpu_hours(20 + 19));
    // Beyond its limit it uses GPU time that was not committed.
    EXPECT_EQ(spending.used(utc(1, 12)), gpu_hours(60));
    EXPECT_EQ(spending.committed(utc(1, 12)), gpu_hours(12));
    spending.release(whole_gpus(4), utc(1, 10), utc(1, 12));
    EXPECT_EQ(spending.used(utc(1, 13)), gpu_hours(61));
    EXPECT_EQ(spending.held(), whole_gpus(1));
}

TEST(Spending, a_period_inherits_overdrawn_time_and_unused_time_up_to_the_carry_over) {
    BudgetPolicy policy = budget(10, kDay);
    policy.carry_over = gpu_hours(4);
    Spending spending{policy, utc(1)};
    spending.hold(whole_gpus(1), Instant{}, utc(1));
    EXPECT_FALSE(spending.turn(policy, utc(1, 23)));
    EXPECT_TRUE(spending.turn(policy, utc(2)));
    EXPECT_EQ(spending.carried(), gpu_hours(-14));
    EXPECT_EQ(spending.used(utc(2)), GpuTime{});
    spending.release(whole_gpus(1), Instant{}, utc(2));
    EXPECT_TRUE(spending.turn(policy, utc(3, 1)));
    EXPECT_EQ(spending.carried(), gpu_hours(-4));
    EXPECT_TRUE(spending.turn(policy, utc(9)));  // a clock that jumped
    EXPECT_EQ(spending.carried(), gpu_hours(4));
}

TEST(Spending, a_job_fits_from_the_reported_time_on_and_not_before) {
    const BudgetPolicy policy = budget(100, kDay);
    const Spending spending{policy, utc(1)};
    const Instant from = spending.fits_from(whole_gpus(7), gpu_hours(100));
    EXPECT_LE(spending.needed(whole_gpus(7), Duration{}, from), gpu_hours(100));
    EXPECT_GT(spending.needed(whole_gpus(7), Duration{}, Instant{from.ms() - 1}), gpu_hours(100));
    EXPECT_EQ(spending.fits_from(whole_gpus(7), GpuTime{}), utc(2));
}

TEST(Spending, nominated_gpus_use_no_time_and_commit_it_as_if_they_started_now) {
    const BudgetPolicy policy = budget(100, kDay);
    Spending spending{policy, utc(1)};
    spending.add_nomination(whole_gpus(4), kHour * 2);
    spending.add_nomination(whole_gpus(1), Duration{});
    EXPECT_EQ(spending.committed(utc(1)), gpu_hours(8 + 24));
    EXPECT_EQ(spending.used(utc(1, 20)), GpuTime{});
    EXPECT_EQ(spending.committed(utc(1, 20)), gpu_hours(8 + 4));
    EXPECT_EQ(spending.committed(utc(1, 23)), gpu_hours(4 + 1));
    EXPECT_TRUE(spending.turn(policy, utc(2)));
    EXPECT_EQ(spending.carried(), GpuTime{});
    EXPECT_EQ(spending.committed(utc(2)), gpu_hours(8 + 24))
        << "it may start in the next period as well";
    spending.withdraw_nomination(whole_gpus(4), kHour * 2);
    spending.withdraw_nomination(whole_gpus(1), Duration{});
    EXPECT_EQ(spending.nominated(), GpuMilli{});
    EXPECT_EQ(spending.committed(utc(2)), GpuTime{});
}

// Two GPUs for an hour need exactly the rest; while eight GPUs are nominated for two hours nothing
// is left.
TEST(Spending, next_to_a_nomination_more_time_is_left_towards_the_end_of_the_period) {
    const BudgetPolicy policy = budget(17, kDay);
    Spending spending{policy, utc(1)};
    spending.add_nomination(whole_gpus(8), kHour * 2);
    const Instant from =
        spending.fits_with_nominations_from(whole_gpus(2), kHour, gpu_hours(1), utc(1));
    EXPECT_EQ(from, utc(1, 22) + Duration::seconds(450)) << "the nomination needs 15 from then on";
    EXPECT_EQ(spending.fits_with_nominations_from(whole_gpus(2), kHour, gpu_hours(-16), utc(1)),
              utc(2));
}

TEST(Spending, any_order_of_holding_and_releasing_equals_the_sum_over_all_jobs) {
    struct Held {
        GpuMilli gpus;
        Instant end;
    };
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Rng rng{seed};
        const BudgetPolicy policy = budget(50, kHour, Instant{1'000});
        Instant now{2'000};
        Spending spending{policy, now};
        std::vector<Held> all;
        GpuTime used;
        for (int i = 0; i < 60; ++i) {
            const Instant before = now;
            now = now + Duration{rng.between(0, 200'000)};
            while (before < now && spending.period().end <= now) {
                const Instant end = spending.period().end;
                spending.turn(policy, end);
                used = GpuTime{};
            }
            const Instant from = std::max(before, spending.period().begin);
            for (const Held& one : all) used += gpu_time(one.gpus, now - from);
            if (!all.empty() && rng.chance(1, 2)) {
                const std::size_t which = rng.below(all.size());
                spending.release(all[which].gpus, all[which].end, now);
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
            } else {
                const Instant end =
                    rng.chance(1, 4) ? Instant{} : now + Duration{rng.between(0, 9'000'000)};
                all.push_back({GpuMilli{rng.between(1, 8'000)}, end});
                spending.hold(all.back().gpus, end, now);
            }
            GpuTime committed;
            const Instant over = spending.period().end;
            for (const Held& one : all) {
                const Instant end = one.end.happened() ? std::min(one.end, over) : over;
                committed += gpu_time(one.gpus, end - now);
            }
            ASSERT_EQ(spending.used(now), used) << "seed " << seed;
            ASSERT_EQ(spending.committed(now), committed) << "seed " << seed;
        }
    }
}

// A queue that may use 100 GPU-hours a day, and a job of eight GPUs for ten hours in it.
EngineWorld world_with_budget() {
    EngineWorld world;
    world.add(node("a", 8));
    Policy policy;
    QueuePolicy lab;
    lab.name = "lab";
    lab.budget = budget(100, kDay);
    policy.pools.push_back({"default", "", {lab}});
    world.set(policy);
    PodFacts first = pod("first", "first", 8);
    first.queue = "lab";
    first.run_time_max = kHour * 10;
    world.add(first);
    world.run();
    return world;
}

// The budget has no room for this job in addition to the first.
PodFacts second() {
    PodFacts out = pod("second", "second", 4);
    out.queue = "lab";
    out.run_time_max = kHour * 10;
    return out;
}

TEST(Budget, a_restart_keeps_used_time_and_the_time_at_which_a_waiting_job_fits) {
    EngineWorld world = world_with_budget();
    world.add(second());
    world.run();
    world.now = world.now + kHour * 5;
    world.send(WokeUp{});
    auto revived = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(revived) << revived.error().message;
    EXPECT_EQ(revived->state_hash(), world.engine.state_hash());
    const BudgetBook& book = revived->state().accounts.budgets();
    ASSERT_EQ(book.queues().size(), 1u);
    const Budget& kept = book.queues().begin()->second;
    EXPECT_EQ(kept.spending.used(world.now), gpu_hours(40));
    EXPECT_EQ(book.turns_at(), world.engine.state().accounts.budgets().turns_at());
    EXPECT_LT(book.turns_at(), kept.spending.period().end) << "second may start before that";
}

// Regression: what-if continued from an image that already included the hours until the query,
// and counted them again.
TEST(Budget, a_query_uses_no_time) {
    EngineWorld world = world_with_budget();
    const std::uint64_t hash = world.engine.state_hash();
    world.engine.state().session.look(world.now + kHour * 5);
    EXPECT_EQ(world.engine.state_hash(), hash);
    auto branch = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(branch) << branch.error().message;
    const BudgetBook& book = branch->state().accounts.budgets();
    EXPECT_EQ(book.queues().begin()->second.spending.used(world.now + kHour * 5), gpu_hours(40));
}

TEST(Budget, a_reload_keeps_used_time_unless_the_period_changes) {
    EngineWorld world = world_with_budget();
    world.now = world.now + kHour * 5;
    Policy policy = world.policy;
    policy.pools.front().queues.front().budget->amount = gpu_hours(200);
    world.set(policy);
    const auto used = [&world] {
        return world.engine.state().accounts.budgets().queues().begin()->second.spending.used(
            world.now);
    };
    EXPECT_EQ(used(), gpu_hours(40));
    policy.pools.front().queues.front().budget->period = kDay * 2;
    world.set(policy);
    EXPECT_EQ(used(), GpuTime{});
    world.now = world.now + kHour;
    world.send(WokeUp{});
    EXPECT_EQ(used(), gpu_hours(8));
}

TEST(Budget, a_waiting_job_has_an_estimate_of_when_it_fits) {
    EngineWorld world = world_with_budget();
    world.add(second());
    world.add(node("b", 8));
    world.run();
    const auto jobs = list_jobs(world.engine.state(), {});
    const auto found = std::find_if(jobs.begin(), jobs.end(),
                                    [](const JobView& job) { return job.key.name == "second"; });
    ASSERT_NE(found, jobs.end());
    ASSERT_TRUE(found->start);
    // 20 GPU-hours are left: sufficient for four GPUs in the last five hours.
    EXPECT_EQ(found->start->likely, utc(0, 19));
    EXPECT_FALSE(found->start->latest.happened());
}

StartEstimate start_of(const EngineWorld& world, const std::string& job) {
    return find_job(world.engine.state(), "team-a", job)->start.value_or(StartEstimate{});
}

// 80 of 100 GPU-hours are committed to the first job, 40 are needed: it may end at any time.
TEST(BudgetStarts, the_earliest_start_is_now_if_time_committed_to_running_jobs_would_suffice) {
    EngineWorld world = world_with_budget();
    world.add(node("b", 8));
    world.add(second());
    world.run();
    EXPECT_EQ(start_of(world, "second").earliest, world.now);
    PodFacts huge = second();
    huge.key.name = huge.uid = "huge";
    huge.request = room(8);
    huge.run_time_max = kHour * 13;
    world.add(huge);
    world.run();
    // 104 are more than the whole budget: only less time is sufficient, 100 / 8 = 12.5 h.
    const Instant period_end =
        world.engine.state().accounts.budgets().queues().begin()->second.spending.period().end;
    EXPECT_GE(start_of(world, "huge").earliest + kHour * 12 + Duration::seconds(1800), period_end);
    EXPECT_GT(start_of(world, "huge").earliest, world.now);
}

TEST(BudgetStarts, a_job_ahead_in_the_same_budget_counts) {
    EngineWorld world = world_with_budget();
    world.add(node("b", 8));
    world.add(second());
    PodFacts third = second();
    third.key.name = third.uid = "third";
    third.request = room(2);
    third.created_at = world.now + Duration{1};
    world.now = world.now + Duration{1};
    world.run();
    const Instant alone = start_of(world, "second").likely;
    world.add(third);
    world.run();
    EXPECT_GT(start_of(world, "third").likely, alone) << "20 are left, and the job ahead needs 40";
}

}  // namespace
}  // namespace gpuctl::test
