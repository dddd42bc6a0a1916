// What a job with terminating pods counts as (docs/adr/0020).

#include "scheduler/state/accounts/limits/limit_table.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// A nomination counts the evicted pods as gone: what their job places next is one more job,
// whatever happens to the reason of the eviction.
TEST(Drained, a_job_counts_as_one_more_while_its_old_pods_terminate) {
    EngineWorld world;
    world.add(node("a", 4));
    QueuePolicy queue;
    queue.name = kDefaultQueue;
    queue.jobs_maximum = 1;
    Policy policy;
    policy.unhealthy_drain = Drain::all;
    policy.pools.push_back({kDefaultPool, "", {}, {}});
    policy.pools.front().queues = {queue};
    world.set(policy);
    world.add(pod("old", "j", 4));
    world.run();
    NodeFacts sick = world.nodes.at("a");
    sick.unhealthy = "GpuUnhealthy";
    world.add(sick);
    world.run();
    world.answer_eviction("old");
    world.pods.at("old").terminating = true;
    world.show("old");
    world.add(node("b", 4));
    world.add(pod("new", "j", 4));
    const auto hits = [&] {
        const ClusterState& state = world.engine.state();
        return state.accounts
            .limit_hit(state.job(state.jobs.find_job({"team-a", "j"})), Load{whole_gpus(4), {}, {}})
            .kind;
    };
    world.run();
    EXPECT_EQ(hits(), LimitKind::queue_jobs);
    sick.unhealthy.clear();
    world.add(sick);
    world.run();
    EXPECT_EQ(hits(), LimitKind::queue_jobs);
    EXPECT_EQ(world.node_of("new"), "");
    world.remove_pod("old");
    world.run();
    EXPECT_NE(world.node_of("new"), "");
}

// Regression: pods whose eviction had been postponed were not evicted again, so the node was not
// drained.
TEST(Drained, a_victim_that_an_ended_nomination_spared_is_evicted_when_its_pause_is_over) {
    EngineWorld world;
    world.add(node("a", 4));
    Policy policy;
    policy.unhealthy_drain = Drain::all;
    world.set(policy);
    PodFacts low = pod("low", "low", 4);
    low.preemptible = true;
    world.add(low);
    world.run();
    PodFacts high = pod("high", "high", 4);
    high.priority = 20;
    world.add(high);
    world.plan();
    world.answer_eviction("low", EvictResult::disruption_budget);
    world.plan();
    world.remove_pod("high");
    world.plan();
    NodeFacts sick = world.nodes.at("a");
    sick.unhealthy = "GpuUnhealthy";
    world.add(sick);
    world.plan();
    EXPECT_TRUE(world.evictions.empty()) << "it is spared for a while";
    const Instant then = world.now + policy.backoff_maximum;
    while (world.now < then) {
        ASSERT_GT(world.sent<WakeAt>().back().at, world.now) << "nothing wakes it any more";
        world.now = world.sent<WakeAt>().back().at;
        world.send(WokeUp{});
        world.plan();
    }
    EXPECT_EQ(world.now, then);
    EXPECT_TRUE(world.evictions.contains("low"));
}

}  // namespace
}  // namespace gpuctl::test
