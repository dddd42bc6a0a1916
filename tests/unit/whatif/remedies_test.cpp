// Changes by other users and administrators: the end of jobs, new nodes, and the jobs that a change
// evicts.

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/whatif/remedies_fixture.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {
namespace {

TEST(Remedies, a_search_that_is_stopped_early_returns_what_it_found_and_says_so) {
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
    EXPECT_EQ(asked, 4) << "the search continued after it was stopped";
    const auto none = find_remedies(state, {"team-a", "late"}, world.now, [] { return false; });
    ASSERT_TRUE(none.has_value());
    EXPECT_TRUE(none->found.empty());
    EXPECT_TRUE(none->tried.empty());
    EXPECT_TRUE(none->ended_early);
}

// If all ranks end at once, the wide gang takes what the small job would get rank by rank.
TEST(Remedies, the_end_of_a_job_that_helps_only_rank_by_rank_is_not_proposed) {
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
            EXPECT_NE(one.kind, ChangeKind::job_ends) << wording::sentence(one.facts);
    }
}

// Added one by one, the second node is for the small job; added at once, both are for the wide job
// before it.
TEST(Remedies, the_proposed_number_of_nodes_helps_one_by_one_and_all_at_once) {
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

TEST(Remedies, the_end_of_a_job_that_starts_only_some_of_the_pods_says_how_many) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("runs", "runs", 6));
    world.run();
    for (int i = 0; i < 3; ++i) world.add(pod("many-" + std::to_string(i), "many", 3));
    world.run();
    EXPECT_EQ(sentence_of(world, "many", ChangeKind::job_ends),
              "2 of its 3 waiting pods would start if team-a/runs (6 GPUs) ended");
}

// The quota of a namespace spans all pools.
TEST(Remedies,
     the_end_of_a_job_of_another_pool_is_proposed_if_it_frees_the_quota_of_the_namespace) {
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
              "it would start if team-a/runs (1 GPU) ended");
}

TEST(Remedies, a_remedy_lists_the_jobs_that_it_would_preempt) {
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
    EXPECT_EQ(wording::sentence(queue->facts),
              "it would start now in queue free, and that would preempt team-a/low (4 GPUs)");
    ASSERT_EQ(queue->stops.size(), 1u);
    EXPECT_EQ(queue->stops[0].key, (ObjectKey{"team-a", "low"}));
    for (const Remedy& one : found->found) {
        EXPECT_TRUE(one.kind != ChangeKind::job_ends || one.stops.empty())
            << wording::sentence(one.facts);
    }
}

// If one rank ends first, the low job blocks the other half; if both end at once it does not.
TEST(Remedies, a_remedy_that_preempts_only_in_one_order_says_up_to) {
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
              "it would start if team-a/runs (8 GPUs) ended, and that would preempt "
              "team-a/low (up to 4 GPUs)");
    EXPECT_EQ(sentence_of(world, "high", ChangeKind::more_nodes),
              "it would start with 1 more node like a, and that would preempt team-a/low (4 GPUs)");
}

// A deleted job is terminating for a while. Then the wide gang, which counts on room that will be
// free soon, preempts the job that started first and takes all of it; if all of it is free at once
// it comes too late.
TEST(Remedies, the_end_of_a_job_that_helps_only_without_its_grace_period_is_not_proposed) {
    const auto sentence = [](bool is_wide_there) {
        EngineWorld world;
        Policy policy = queue_of_at_most(64);
        PoolPolicy& pools = policy.pools.front();
        pools.order = QueueOrder::capacity;
        pools.queues.push_back({"owed", 0, 1, whole_gpus(4), {}});
        pools.queues.back().order = QueueOrder::fifo;
        world.set(policy);
        for (const char* name : {"a", "b", "c"}) world.add(node(name, 2));
        world.add(gang("runs", 3, 2));
        world.run();
        PodFacts first = pod("first", "first", 2);
        first.queue = "owed";
        first.preemptible = true;
        world.add(first);
        std::vector<PodFacts> wide = gang("wide", 3, 2);
        for (PodFacts& rank : wide) {
            rank.queue = "owed";
            rank.priority = priority_value(JobPriority::high);
        }
        if (is_wide_there) world.add(wide);
        PodFacts asked = pod("asked", "asked", 2);
        asked.queue = "free";
        world.add(asked);
        world.run();
        EXPECT_EQ(world.node_of("asked"), "");
        return sentence_of(world, "asked", ChangeKind::job_ends);
    };
    EXPECT_EQ(sentence(false), "it would start if team-a/runs (6 GPUs) ended");
    EXPECT_EQ(sentence(true), "");
}

// As soon as the running rank has ended, the small job starts in its place and is preempted again
// by the other rank.
TEST(Remedies, a_change_that_starts_a_job_only_to_have_it_preempted_is_not_proposed) {
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
    JobRecord record;  // it remains when its pod is evicted
    record.uid = "uid-of-v";
    record.spec.key = {"team-a", "v"};
    record.spec.gpu.resource = test::kGpu;
    record.spec.gpu.amount = GpuMilli{300};
    record.submitted_at = Instant{world.now.ms() - 10'000};
    world.send(JobSubmitted{record});
    PodFacts waits = part("v", 300);
    waits.preemptible = true;
    waits.created_at = Instant{world.now.ms() - 10'000};  // head of line
    world.add(waits);
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "v"}, world.now);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->found.empty());
    for (const Remedy& one : found->found) {
        for (const EvictedJob& stopped : one.stops)
            EXPECT_NE(stopped.key.name, "v") << wording::sentence(one.facts);
    }
}

TEST(Remedies, new_nodes_for_a_job_of_one_rack_must_be_in_this_rack) {
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
    // The job before it could not use nodes elsewhere, or would use them with nodes that exist
    // there.
    world.add(gang("behind", 2, 4));
    world.run();
    EXPECT_EQ(sentence_of(world, "behind", ChangeKind::more_nodes),
              "it would start with 3 more nodes like a, in its rack");
}

// Regression: more of the largest nodes were tried alone, on which it does not fit.
TEST(Remedies, proposed_nodes_are_of_a_kind_on_which_the_job_fits) {
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
