// What a job whose pods are being stopped counts as (ADR 0020).

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// Whoever claims room counts on it as gone: what it places next is another job, whatever became of
// the reason why it had to go (seeds 2150, 2644, 5788).
TEST(Drained, what_a_job_places_next_is_one_more_until_its_old_pods_are_gone) {
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
        return state
            .limit_hit(state.job(state.find_job({"team-a", "j"})), Load{whole_gpus(4), {}, {}})
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

// The node was to be empty by then, and nobody came back to who had been left alone (seed 12627).
TEST(Drained, who_was_spared_when_a_claim_fell_is_asked_when_that_is_over) {
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
    EXPECT_TRUE(world.evictions.empty()) << "it is left alone for a while";
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
