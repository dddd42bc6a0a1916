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

}  // namespace
}  // namespace gpuctl::test
