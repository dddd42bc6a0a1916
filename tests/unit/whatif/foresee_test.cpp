// When a job starts, by simulation of a copy of the engine. Each of these is a regression: the same
// engine did not keep the estimated time.

#include "scheduler/whatif/foresee.hpp"

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {
namespace {

using test::EngineWorld;
using test::gang;
using test::node;
using test::pod;

std::optional<StartEstimate> start_of(const EngineWorld& world, const std::string& name,
                                      const std::string& tenant = "team-a") {
    return foresee_start(world.engine.export_state(), {tenant, name}, world.now, std::nullopt);
}
Duration until(const EngineWorld& world, Instant at) { return at - world.now; }

PodFacts limited(const std::string& name, std::int64_t gpus, std::int64_t seconds,
                 const std::string& queue = "", const std::string& tenant = "team-a") {
    PodFacts facts = pod(name, name, gpus);
    facts.key.namespace_name = tenant;
    facts.queue = queue;
    facts.run_time_max = facts.run_time_expected = Duration::seconds(seconds);
    return facts;
}

Policy policy_of(std::vector<QueuePolicy> queues) {
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = std::move(queues);
    policy.pools = {pool};
    return policy;
}

// While a job of x runs, y is served first; when it has ended both queues hold nothing, and the job
// of x is older.
TEST(Foresee, another_queue_is_served_first_once_it_holds_nothing) {
    EngineWorld world;
    QueuePolicy x{"x", 0, 3, {}, {}};
    QueuePolicy y{"y", 0, 1, {}, {}};
    Policy policy = policy_of({x, y});
    policy.usage_half_life = Duration{};  // else x would have more recent usage
    world.set(policy);
    world.add(node("a", 8));
    world.add(limited("b0", 8, 30, "x", "e1"));
    world.run();
    world.add(limited("b1", 8, 240, "x", "e1"));
    world.run();
    world.add(limited("b2", 8, 20, "y", "e2"));
    world.run();
    const auto first = start_of(world, "b1", "e1");
    const auto second = start_of(world, "b2", "e2");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(until(world, first->latest), Duration::seconds(30));
    EXPECT_EQ(until(world, second->latest), Duration::seconds(30 + 240));
    EXPECT_EQ(until(world, second->likely), Duration::seconds(30 + 240));
}

// Half of each of two nodes is free, and no complete node.
TEST(Foresee, free_gpus_on_several_nodes_do_not_fit_one_pod) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(node("b", 4));
    for (const char* name : {"k1", "k2", "k3", "k4"}) world.add(limited(name, 2, 1'800));
    world.run();
    ASSERT_NE(world.node_of("k1"), world.node_of("k3"));
    world.remove_pod("k1");
    world.remove_pod("k3");
    world.run();
    world.add(limited("kk", 4, 30));
    world.add(limited("kl", 4, 30));
    world.run();
    ASSERT_EQ(world.node_of("kk"), "");
    const auto first = start_of(world, "kk");
    ASSERT_TRUE(first);
    EXPECT_EQ(until(world, first->latest), Duration::seconds(1'800));
}

// The queue with the guarantee is served first, however long the other job has waited.
TEST(Foresee, a_guarantee_is_served_before_an_older_job) {
    EngineWorld world;
    QueuePolicy q{"q", 0, 1, {}, {}};
    QueuePolicy g{"g", 0, 1, whole_gpus(12), {}};
    world.set(policy_of({q, g}));
    for (const char* name : {"a", "b", "c", "d"}) world.add(node(name, 4));
    const auto wide = [](const std::string& name, std::int32_t ranks, std::int64_t seconds,
                         const std::string& queue, const std::string& tenant) {
        std::vector<PodFacts> pods = gang(name, ranks, 4);
        for (PodFacts& rank : pods) {
            rank.key.namespace_name = tenant;
            rank.queue = queue;
            rank.run_time_max = rank.run_time_expected = Duration::seconds(seconds);
        }
        return pods;
    };
    world.add(wide("ga", 4, 25, "q", "h1"));
    world.run();
    world.add(wide("gb", 3, 60, "q", "h2"));
    world.run();
    world.add(wide("gc", 3, 60, "g", "h3"));
    world.run();
    const auto without = start_of(world, "gb", "h2");
    const auto with = start_of(world, "gc", "h3");
    ASSERT_TRUE(without && with);
    EXPECT_EQ(until(world, with->latest), Duration::seconds(25));
    EXPECT_EQ(until(world, without->latest), Duration::seconds(25 + 60));
}

// No event has occurred for a minute, in which the job should have ended.
TEST(Foresee, a_job_older_than_its_prediction_ends_later_even_without_events) {
    EngineWorld world;
    world.add(node("a", 4));
    PodFacts runs = limited("runs", 4, 10);
    runs.run_time_max = Duration{};
    world.add(runs);
    world.run();
    world.add(limited("waits", 4, 30));
    world.run();
    EXPECT_EQ(until(world, start_of(world, "waits")->likely), Duration::seconds(10));
    world.now = world.now + Duration::seconds(60);
    EXPECT_EQ(until(world, start_of(world, "waits")->likely), Duration::seconds(60));
}

// Of the queue's maximum of 4 GPUs, 2 are released at a time.
TEST(Foresee, jobs_ahead_use_up_the_maximum) {
    EngineWorld world;
    world.set(policy_of({QueuePolicy{"q", 0, 1, {}, whole_gpus(4)}}));
    world.add(node("a", 8));
    world.add(limited("a", 2, 20, "q"));
    world.add(limited("b", 2, 90, "q"));
    world.run();
    world.add(limited("c", 2, 40, "q"));
    world.run();
    world.add(limited("d", 2, 40, "q"));
    world.run();
    EXPECT_EQ(until(world, start_of(world, "c")->likely), Duration::seconds(20));
    EXPECT_EQ(until(world, start_of(world, "d")->likely), Duration::seconds(60));
}

// A job of 4 GPUs waits under a limit of 4, behind a job of 2 GPUs that ends.
void wait_under_a_limit(EngineWorld& world, HeadOfLine head) {
    Policy policy = policy_of({QueuePolicy{"q", 0, 1, {}, whole_gpus(4)}});
    policy.pools.front().backfill.head = head;
    world.set(policy);
    world.add(node("a", 8));
    world.add(limited("runs", 2, 20, "q"));
    world.run();
    world.add(limited("wide", 4, 40, "q"));
    world.run();
    ASSERT_EQ(world.node_of("wide"), "");
}

TEST(Foresee, a_head_of_line_without_quota_reservation_may_be_passed) {
    EngineWorld world;
    wait_under_a_limit(world, HeadOfLine::step_aside);
    const auto estimate = start_of(world, "wide");
    ASSERT_TRUE(estimate);
    EXPECT_TRUE(estimate->may_be_passed);
}

TEST(Foresee, a_head_of_line_with_quota_reservation_is_not_passed) {
    EngineWorld world;
    wait_under_a_limit(world, HeadOfLine::reserve);
    const auto estimate = start_of(world, "wide");
    ASSERT_TRUE(estimate);
    EXPECT_FALSE(estimate->may_be_passed) << "quota would be reserved for it";
    world.add(limited("small", 1, 40, "q"));
    world.run();
    EXPECT_EQ(world.node_of("small"), "");
    EXPECT_FALSE(start_of(world, "wide")->may_be_passed);
}

TEST(Foresee, there_is_no_estimate_behind_a_job_of_unknown_end) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(pod("runs", "runs", 4));
    world.run();
    world.add(limited("waits", 4, 30));
    world.run();
    EXPECT_FALSE(start_of(world, "waits"));
    EXPECT_FALSE(start_of(world, "runs"));
}

TEST(Foresee, the_reason_next_to_an_estimate_gives_no_other_time) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(limited("runs", 6, 100));
    world.run();
    world.add(limited("wide", 8, 100));
    world.run();
    Explanation blocker = explain_job(world.engine.state(), {"team-a", "wide"}).front();
    const std::string before = wording::sentence(blocker);
    keep_to(std::nullopt, blocker);
    EXPECT_EQ(wording::sentence(blocker), before) << "without an estimate the sentence stays";
    keep_to(start_of(world, "wide"), blocker);
    EXPECT_EQ(wording::sentence(blocker),
              "8 GPUs requested on one node; pool default: 2 of 8 GPUs free, at most 2 on one "
              "node; it is the head-of-line job");
}

}  // namespace
}  // namespace gpuctl::whatif
