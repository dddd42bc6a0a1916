// Scores of waiting jobs with the order `shortest` (docs/adr/0018).

#include "scheduler/policy/shortest_first.hpp"

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// Two of three ranks are terminating and still at work, while their replacements wait: the
// remaining work of the job decreases. With a cached score, an engine that continued had another
// order than an engine that was restored from its image (found by simulation).
TEST(ShortestFirstScore, decreases_while_terminating_ranks_of_a_waiting_job_still_work) {
    EngineWorld world;
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.preemption.mode = PreemptionMode::shortest;
    QueuePolicy queue;
    queue.name = "default";
    queue.order = QueueOrder::shortest;
    pool.queues = {queue};
    policy.pools = {pool};
    world.set(policy);
    world.add(node("a", 3));
    JobRecord record;
    record.uid = "job-uid";
    record.spec.key = {"team-a", "e"};
    record.spec.replicas_min = 2;
    record.spec.replicas_max = 3;
    record.spec.speeds = {{2, 1'000}, {3, 1'500}};
    record.spec.run_time_expected = Duration::seconds(6'000);
    world.send(JobSubmitted{record});
    const CreateWorkload creation = world.sent<CreateWorkload>().front();
    world.send(WorkloadOutcome{creation.id, record.spec.key, true, false, "", {}});
    const auto add = [&](PodFacts rank) {
        rank.gang_min = 2;
        rank.run_time_expected = record.spec.run_time_expected;
        world.add(rank);
    };
    for (const PodFacts& rank : gang("e", 3, 1)) add(rank);
    world.run();
    for (const char* name : {"e-1", "e-2"}) {
        PodFacts rank = world.pods.at(name);
        rank.terminating = true;
        add(rank);
        rank.terminating = false;
        rank.node.clear();
        rank.uid += "-next";
        rank.key.name = rank.uid;
        add(rank);
    }
    world.run();
    const ClusterState& state = world.engine.state();
    const ClassId waits = state.job(state.jobs.find_job({"team-a", "e"})).waiting.in_class;
    ASSERT_TRUE(waits.exists());
    ShortestFirst shortest;
    const std::int64_t before = shortest.score(state, waits);
    world.now = world.now + Duration::seconds(3'000);
    world.send(WokeUp{});
    ASSERT_EQ(state.job(state.jobs.find_job({"team-a", "e"})).waiting.in_class, waits);
    EXPECT_LT(shortest.score(state, waits), before);
    EXPECT_EQ(shortest.score(state, waits), ShortestFirst{}.score(state, waits));
}

}  // namespace
}  // namespace gpuctl::test
