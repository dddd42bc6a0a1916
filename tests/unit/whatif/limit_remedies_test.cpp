// Changes by administrators of limits: how far a limit is raised, alone or with another change.

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/whatif/remedies_fixture.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {
namespace {

// Jobs ahead that the same limit blocks start first when the limit is raised.
TEST(LimitRemedies, a_limit_is_raised_far_enough_for_the_jobs_ahead_under_it) {
    EngineWorld world;
    Policy policy = namespace_of_at_most(4);
    world.set(policy);
    for (const char* name : {"a", "b", "c", "d"}) world.add(node(name, 4));
    world.add(pod("runs", "runs", 4));
    world.run();
    PodFacts ahead = pod("ahead", "ahead", 2);
    ahead.priority = priority_value(JobPriority::high);
    world.add(ahead);
    world.add(pod("second", "second", 4));
    world.add(pod("third", "third", 3));
    world.run();
    EXPECT_EQ(sentence_of(world, "ahead", ChangeKind::higher_limits),
              "it would start if the maximum of namespace team-a were 6 GPUs instead of 4");
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if the maximum of namespace team-a were 10 GPUs instead of 4");

    policy.tenants.front().gpu_maximum = std::nullopt;
    policy.pools.front().queues.front().maximum = whole_gpus(4);
    world.set(policy);
    world.plan();
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 10 GPUs instead of 4");

    policy.pools.front().queues.front().maximum = std::nullopt;
    policy.pools.front().queues.front().jobs_maximum = 1;
    world.set(policy);
    world.plan();
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if maxJobs of queue default were 3 instead of 1");

    policy.pools.front().queues.front().jobs_maximum = std::nullopt;
    policy.pools.front().queues.front().budget =
        BudgetPolicy{gpu_time(whole_gpus(10), Duration::seconds(3600)), kDay, Instant{}, {}};
    world.set(policy);
    world.plan();
    // The rest of the day: for the 4 GPUs that run, for 2 GPUs before it and for its own 4.
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if the budget of queue default were 237.223 GPU-hours instead of 10");
}

// 6 GPUs are used, 2 are withheld by a queue: no more may be held. But with the higher limit the
// job reclaims lent capacity.
TEST(LimitRemedies, a_limit_is_raised_even_if_other_queues_do_not_lend_the_rest) {
    EngineWorld world;
    Policy policy = queue_of_at_most(2);
    QueuePolicy own{"own", 0, 1, {}, whole_gpus(2)};
    own.parent = "owed";
    QueuePolicy kept{"kept", 0, 1, whole_gpus(2), {}};
    kept.lending_limit = GpuMilli{};
    policy.pools[0].queues = {{"owed", 0, 1, whole_gpus(3), {}}, own, {"free", 0, 1, {}, {}}, kept};
    world.set(policy);
    world.add(node("a", 8));
    const auto in = [](PodFacts facts, const char* queue) {
        facts.queue = queue;
        facts.preemptible = facts.queue == "free";
        return facts;
    };
    world.add(in(pod("first", "first", 2), "own"));
    for (const char* name : {"b0", "b1", "b2", "b3"}) world.add(in(pod(name, name, 1), "free"));
    world.run();
    ASSERT_EQ(world.node_of("b3"), "a");
    world.add(in(pod("late", "late", 1), "own"));
    world.run();
    ASSERT_EQ(world.node_of("late"), "");
    EXPECT_TRUE(sentence_of(world, "late", ChangeKind::higher_limits)
                    .starts_with(
                        "it would start if the maximum of queue owed/own were 3 GPUs instead of 2"))
        << sentence_of(world, "late", ChangeKind::higher_limits);
}

TEST(LimitRemedies, limits_are_raised_by_parts_of_gpus_where_parts_are_held) {
    EngineWorld world;
    Policy policy = queue_of_at_most(2);
    world.set(policy);
    for (const char* name : {"a", "b"}) world.add(node(name, 8));
    world.add(pod("x", "x", 2));
    world.run();
    for (const PodFacts& waits : {part("y", 100), pod("w", "w", 1), pod("z", "z", 1)}) {
        world.add(waits);
        world.run();
    }
    EXPECT_EQ(sentence_of(world, "w", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 3.1 GPUs instead of 2");
    EXPECT_EQ(sentence_of(world, "z", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 4.1 GPUs instead of 2");
    policy.pools.front().queues.front().jobs_maximum = 1;
    world.set(policy);
    world.run();
    EXPECT_EQ(sentence_of(world, "z", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 4.1 GPUs instead of 2, and "
              "maxJobs of queue default were 4 instead of 1");
}

TEST(LimitRemedies, a_budget_is_raised_by_the_thousandth) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    const auto gpu_seconds = [](std::int64_t seconds) {
        return gpu_time(whole_gpus(1), Duration::seconds(seconds));
    };
    policy.pools.front().queues.front().budget =
        BudgetPolicy{gpu_seconds(108), kDay, Instant{}, {}};
    world.set(policy);
    world.add(node("a", 8));
    PodFacts runs = pod("runs", "runs", 2);
    runs.run_time_max = Duration::seconds(50);
    world.add(runs);
    world.run();
    PodFacts waits = pod("waits", "waits", 1);
    waits.run_time_max = Duration::seconds(20);
    world.add(waits);
    world.run();
    // 100 s are committed, 20 s needed: 12 s more are 0.00333 GPU-hours.
    EXPECT_EQ(sentence_of(world, "waits", ChangeKind::higher_limits),
              "it would start if the budget of queue default were 0.034 GPU-hours instead of "
              "0.03");
}

TEST(LimitRemedies, only_the_limit_of_the_gpu_model_that_suffices_is_raised) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    QueuePolicy& queue = policy.pools.front().queues.front();
    queue.models = {{"A100", {}, whole_gpus(2)}, {"H100", {}, whole_gpus(1)}};
    world.set(policy);
    world.add(node("a", 2));
    NodeFacts h100 = node("h", 8);
    h100.gpu_model = "H100";
    world.add(h100);
    world.add(pod("waits", "waits", 4));
    world.run();
    EXPECT_EQ(sentence_of(world, "waits", ChangeKind::higher_limits),
              "it would start if the maximum of queue default of H100 were 4 GPUs instead of 1");
}

// The limit of a queue and a full node: no single change is sufficient.
TEST(LimitRemedies, two_changes_are_proposed_where_no_single_one_suffices) {
    EngineWorld world;
    world.set(queue_of_at_most(2));
    world.add(node("a", 4));
    for (const char* name : {"b1", "b2"}) {
        PodFacts other = pod(name, name, name[1] == '1' ? 2 : 1);
        other.queue = "free";
        world.add(other);
    }
    world.add(pod("a1", "a1", 1));
    world.run();
    world.add(pod("a2", "a2", 2));
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "a2"}, world.now);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->found.size(), 1u);
    const Remedy& both = found->found.front();
    EXPECT_EQ(both.kind, ChangeKind::two_changes);
    EXPECT_EQ(wording::sentence(both.facts),
              "it would start if the maximum of queue default were 3 GPUs instead of 2, and "
              "team-a/b1 (2 GPUs) ended");
    ASSERT_EQ(both.parts.size(), 2u);
    EXPECT_EQ(both.parts[0].kind, ChangeKind::higher_limits);
    EXPECT_EQ(both.parts[1].kind, ChangeKind::job_ends);
    using enum ChangeKind;
    EXPECT_EQ(found->tried, (std::vector{fewer_gpus, shorter_run_time, other_queue, higher_limits,
                                         jobs_move, job_ends, more_nodes, two_changes}));
}

// Regression: 15 was reported, where 9 was sufficient.
TEST(LimitRemedies, a_limit_is_raised_no_further_than_needed_after_preemption_under_it) {
    EngineWorld world;
    Policy policy = namespace_of_at_most(8);
    world.set(policy);
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(pod("stays", "stays", 2));
    PodFacts low = pod("low", "low", 6);
    low.preemptible = true;
    low.priority = priority_value(JobPriority::low);
    world.add(low);
    world.run();
    PodFacts high = pod("high", "high", 7);
    high.priority = priority_value(JobPriority::high);
    world.add(high);
    world.run();
    EXPECT_EQ(sentence_of(world, "high", ChangeKind::higher_limits),
              "it would start if the maximum of namespace team-a were 9 GPUs instead of 8, and "
              "that would preempt team-a/low (6 GPUs)");
    policy.tenants.clear();
    policy.pools.front().queues.front().maximum = whole_gpus(8);
    world.set(policy);
    world.run();
    EXPECT_EQ(sentence_of(world, "high", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 9 GPUs instead of 8, and that "
              "would preempt team-a/low (6 GPUs)");
}

// Without the other job of its queue less is held, and the maximum needs to be raised less.
TEST(LimitRemedies, together_with_the_end_of_a_job_a_limit_is_raised_no_further_than_needed) {
    EngineWorld world;
    world.set(queue_of_at_most(2));
    world.add(node("a", 8));
    world.add(pod("a1", "a1", 2));
    PodFacts other = pod("b1", "b1", 4);
    other.queue = "free";
    world.add(other);
    world.run();
    world.add(pod("a2", "a2", 4));
    world.run();
    EXPECT_EQ(sentence_of(world, "a2", ChangeKind::two_changes),
              "it would start if the maximum of queue default were 4 GPUs instead of 2, and "
              "team-a/a1 (2 GPUs) ended");
}

}  // namespace
}  // namespace gpuctl::whatif
