// Changes by those who run the cluster: limits, the end of jobs, nodes.

#include "scheduler/whatif/remedies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_world.hpp"

namespace gpuctl::whatif {
namespace {

using test::EngineWorld;
using test::gang;
using test::node;
using test::pod;

std::string sentence_of(const EngineWorld& world, const std::string& name, ChangeKind kind) {
    const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
    EXPECT_TRUE(found.has_value());
    for (const Remedy& one : found->found) {
        if (one.kind == kind) return one.sentence;
    }
    return "";
}

Policy queue_of_at_most(std::int64_t gpus) {
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, whole_gpus(gpus)}, {"free", 0, 1, {}, {}}};
    policy.pools = {pool};
    return policy;
}

TEST(Remedies, a_search_that_is_told_to_end_keeps_what_it_found_and_says_so) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("runs", "runs", 8));
    world.run();
    world.add(pod("late", "late", 4));
    world.run();
    const std::string state = world.engine.export_state();
    const auto whole = find_remedies(state, {"team-a", "late"}, world.now);
    ASSERT_TRUE(whole.has_value());
    EXPECT_FALSE(whole->ended_early);
    ASSERT_EQ(whole->found.size(), 2u) << "the end of the job, and a node";

    int asked = 0;
    const auto first =
        find_remedies(state, {"team-a", "late"}, world.now, [&] { return ++asked < 4; });
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(first->ended_early);
    EXPECT_EQ(asked, 4) << "the search went on after it was told to end";
    const auto none = find_remedies(state, {"team-a", "late"}, world.now, [] { return false; });
    ASSERT_TRUE(none.has_value());
    EXPECT_TRUE(none->found.empty());
    EXPECT_TRUE(none->tried.empty());
    EXPECT_TRUE(none->ended_early);
}

// All at once the wide gang takes what the small job would get of it rank by rank.
TEST(Remedies, the_end_of_a_job_that_helps_only_rank_by_rank_is_none) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(node("b", 4));
    world.add(gang("runs", 2, 4));
    world.run();
    std::vector<PodFacts> wide = gang("wide", 2, 4);
    for (PodFacts& rank : wide) rank.priority = priority_value(JobPriority::high);
    world.add(wide);
    world.add(pod("small", "small", 2));
    world.run();
    for (const char* name : {"wide", "small"}) {
        const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
        ASSERT_TRUE(found);
        for (const Remedy& one : found->found)
            EXPECT_NE(one.kind, ChangeKind::job_ends) << one.sentence;
    }
}

// One by one, the second is for the small job; both at once are for the wide one ahead of it.
TEST(Remedies, the_fewest_nodes_help_one_by_one_and_all_at_once) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(pod("full", "full", 4));
    world.run();
    std::vector<PodFacts> wide = gang("wide", 2, 4);
    for (PodFacts& rank : wide) rank.priority = priority_value(JobPriority::high);
    world.add(wide);
    PodFacts middle = pod("middle", "middle", 3);
    middle.priority = priority_value(JobPriority::medium);
    world.add(middle);
    world.add(pod("small", "small", 2));
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "small"}, world.now);
    ASSERT_TRUE(found);
    const auto nodes =
        std::find_if(found->found.begin(), found->found.end(),
                     [](const Remedy& one) { return one.kind == ChangeKind::more_nodes; });
    ASSERT_NE(nodes, found->found.end());
    EXPECT_EQ(nodes->amount, 4);
}

// Whom else a limit holds up goes first when it is raised.
TEST(Remedies, a_limit_is_raised_so_far_that_those_ahead_under_it_start_too) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    TenantPolicy& tenant = policy.tenants.emplace_back();
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(4);
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
              "it would start if namespace team-a might hold 6 GPUs instead of 4");
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if namespace team-a might hold 10 GPUs instead of 4");

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
    // What is left of the day: of the 4 GPUs that run, of 2 ahead of it and of its own 4.
    EXPECT_EQ(sentence_of(world, "second", ChangeKind::higher_limits),
              "it would start if the budget of queue default were 237.223 GPU-hours instead of 10");
}

PodFacts part(const std::string& name, std::int64_t thousandths) {
    PodFacts out = pod(name, name, 1);
    out.request.gpus.front().amount = GpuMilli{thousandths};
    return out;
}

// 6 GPUs are used, 2 kept back: no more may be held. But what was lent is taken back for it then.
TEST(Remedies, a_limit_is_raised_also_where_others_keep_the_rest_back) {
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

TEST(Remedies, the_end_of_a_job_that_starts_only_some_of_the_pods_says_how_many) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("runs", "runs", 6));
    world.run();
    for (int i = 0; i < 3; ++i) world.add(pod("many-" + std::to_string(i), "many", 3));
    world.run();
    EXPECT_EQ(sentence_of(world, "many", ChangeKind::job_ends),
              "2 of its 3 waiting pods would start if team-a/runs ended, which holds 6 GPUs");
}

// What a namespace may hold is the same in all pools.
TEST(Remedies, a_job_of_another_pool_ends_where_it_holds_what_the_namespace_may) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    policy.tenants.emplace_back().name = "team-a";
    policy.tenants.back().gpu_maximum = whole_gpus(4);
    policy.tenants.emplace_back().name = "team-b";
    world.set(policy);
    world.add(node("a", 8));
    NodeFacts other = node("b", 8);
    other.pool = "other";
    world.add(other);
    PodFacts runs = pod("runs", "runs", 1);
    runs.pool = "other";
    world.add(runs);
    PodFacts theirs = pod("theirs", "theirs", 1);
    theirs.pool = "other";
    theirs.key.namespace_name = "team-b";
    world.add(theirs);
    world.run();
    ASSERT_NE(world.node_of("runs"), "");
    world.add(pod("late", "late", 4));
    world.run();
    ASSERT_EQ(world.node_of("late"), "");
    EXPECT_EQ(sentence_of(world, "late", ChangeKind::job_ends),
              "it would start if team-a/runs ended, which holds 1 GPU");
}

TEST(Remedies, limits_are_raised_by_parts_of_gpus_where_parts_are_held) {
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

TEST(Remedies, a_budget_is_raised_by_the_thousandth) {
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

TEST(Remedies, of_the_limits_of_gpu_models_only_the_one_that_is_enough_is_raised) {
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

// A queue's limit and a full node: neither alone is enough.
TEST(Remedies, two_changes_are_told_where_no_single_one_does) {
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
    EXPECT_EQ(both.sentence,
              "it would start if the maximum of queue default were 3 GPUs instead of 2, and "
              "team-a/b1 ended, which holds 2 GPUs");
    ASSERT_EQ(both.parts.size(), 2u);
    EXPECT_EQ(both.parts[0].kind, ChangeKind::higher_limits);
    EXPECT_EQ(both.parts[1].kind, ChangeKind::job_ends);
    using enum ChangeKind;
    EXPECT_EQ(found->tried, (std::vector{fewer_gpus, shorter_run_time, other_queue, higher_limits,
                                         jobs_move, job_ends, more_nodes, two_changes}));
}

TEST(Remedies, whom_a_change_would_push_out_is_told_with_it) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    policy.pools.front().queues.back().guaranteed = whole_gpus(4);
    world.set(policy);
    world.add(node("a", 4));
    PodFacts low = pod("low", "low", 4);
    low.preemptible = true;
    world.add(low);
    world.run();
    world.add(pod("second", "second", 2));
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "second"}, world.now);
    ASSERT_TRUE(found);
    const auto queue =
        std::find_if(found->found.begin(), found->found.end(),
                     [](const Remedy& one) { return one.kind == ChangeKind::other_queue; });
    ASSERT_NE(queue, found->found.end());
    EXPECT_EQ(queue->sentence,
              "it would start now in queue free, and that would push out team-a/low (4 GPUs)");
    ASSERT_EQ(queue->stops.size(), 1u);
    EXPECT_EQ(queue->stops[0].key, (ObjectKey{"team-a", "low"}));
    for (const Remedy& one : found->found) {
        EXPECT_TRUE(one.kind != ChangeKind::job_ends || one.stops.empty()) << one.sentence;
    }
}

// A reader of the program: told 15, where 9 were enough.
TEST(Remedies, a_limit_is_raised_no_further_than_what_gives_way_under_it_leaves_to_do) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    TenantPolicy& tenant = policy.tenants.emplace_back();
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(8);
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
              "it would start if namespace team-a might hold 9 GPUs instead of 8, and that would "
              "push out team-a/low (6 GPUs)");
    policy.tenants.clear();
    policy.pools.front().queues.front().maximum = whole_gpus(8);
    world.set(policy);
    world.run();
    EXPECT_EQ(sentence_of(world, "high", ChangeKind::higher_limits),
              "it would start if the maximum of queue default were 9 GPUs instead of 8, and that "
              "would push out team-a/low (6 GPUs)");
}

// With the other of its queue gone the queue holds less, and its maximum needs less.
TEST(Remedies, beside_the_end_of_a_job_a_limit_is_raised_no_further_than_that_leaves_to_do) {
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
              "team-a/a1 ended, which holds 2 GPUs");
}

// As soon as one rank has gone, the low job is in the way of the other half; with both gone it is
// not.
TEST(Remedies, whom_a_change_pushes_out_in_one_way_of_doing_it_is_told_as_up_to) {
    EngineWorld world;
    for (const char* name : {"a", "b", "c"}) world.add(node(name, 4));
    world.add(gang("runs", 2, 4));
    world.run();
    PodFacts low = pod("low", "low", 4);
    low.preemptible = true;
    low.priority = priority_value(JobPriority::low);
    world.add(low);
    world.run();
    std::vector<PodFacts> high = gang("high", 2, 4);
    for (PodFacts& rank : high) rank.priority = priority_value(JobPriority::high);
    world.add(high);
    world.run();
    EXPECT_EQ(sentence_of(world, "high", ChangeKind::job_ends),
              "it would start if team-a/runs ended, which holds 8 GPUs, and that would push out "
              "team-a/low (up to 4 GPUs)");
    EXPECT_EQ(
        sentence_of(world, "high", ChangeKind::more_nodes),
        "it would start with 1 more node like a, and that would push out team-a/low (4 GPUs)");
}

// As soon as the rank that runs has gone, the small job starts in its place and gives way again to
// the other rank.
TEST(Remedies, a_change_that_starts_a_job_only_to_have_it_stopped_again_is_none) {
    EngineWorld world;
    Policy policy = queue_of_at_most(64);
    policy.pools.front().order = QueueOrder::fifo;
    policy.pools.front().queues.front().order = QueueOrder::fifo;
    world.set(policy);
    world.add(node("a", 2));
    world.add(pod("fix", "fix", 1));
    world.add(part("fix2", 600));
    world.run();
    std::vector<PodFacts> service = {part("svc-0", 400), part("svc-1", 400)};
    for (PodFacts& replica : service) {
        replica.job = "svc";
        replica.created_at = world.now;
        replica.priority = priority_value(JobPriority::high);
        world.add(replica);
        world.run();
    }
    JobRecord record;  // it stays when its pod is stopped
    record.uid = "uid-of-v";
    record.spec.key = {"team-a", "v"};
    record.spec.gpu.resource = test::kGpu;
    record.spec.gpu.amount = GpuMilli{300};
    record.submitted_at = Instant{world.now.ms() - 10'000};
    world.send(JobSubmitted{record});
    PodFacts waits = part("v", 300);
    waits.preemptible = true;
    waits.created_at = Instant{world.now.ms() - 10'000};  // first in line
    world.add(waits);
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "v"}, world.now);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->found.empty());
    for (const Remedy& one : found->found) {
        for (const StoppedJob& stopped : one.stops)
            EXPECT_NE(stopped.key.name, "v") << one.sentence;
    }
}

TEST(Remedies, new_nodes_for_a_job_of_one_rack_have_to_stand_there) {
    EngineWorld world;
    NodeFacts a = node("a", 4);
    a.topology.host = "a";
    a.topology.rack = "r1";
    world.add(a);
    std::vector<PodFacts> ranks = gang("g", 2, 4);
    for (PodFacts& rank : ranks) rank.rules.topology.required = TopologyLevel::rack;
    world.add(ranks);
    world.run();
    EXPECT_EQ(sentence_of(world, "g", ChangeKind::more_nodes),
              "it would start with 1 more node like a, in its rack");
    // Elsewhere the one ahead could not use it, or would take it with nodes that stand there.
    world.add(gang("behind", 2, 4));
    world.run();
    EXPECT_EQ(sentence_of(world, "behind", ChangeKind::more_nodes),
              "it would start with 3 more nodes like a, in its rack");
}

// A reader saw it: more of the largest were tried alone, on which it does not fit.
TEST(Remedies, more_nodes_are_of_a_kind_on_which_it_fits) {
    EngineWorld world;
    NodeFacts big = node("big", 8);
    big.allocatable.memory = Bytes{std::int64_t{64} << 30};
    world.add(big);
    NodeFacts small = node("small", 4);
    small.allocatable.memory = Bytes{std::int64_t{1024} << 30};
    world.add(small);
    PodFacts runs = pod("runs", "runs", 4);
    runs.request.memory = Bytes{std::int64_t{512} << 30};
    world.add(runs);
    world.run();
    PodFacts waits = pod("waits", "waits", 2);
    waits.request.memory = Bytes{std::int64_t{768} << 30};
    world.add(waits);
    world.run();
    EXPECT_EQ(sentence_of(world, "waits", ChangeKind::more_nodes),
              "it would start with 1 more node like small");
}

}  // namespace
}  // namespace gpuctl::whatif
