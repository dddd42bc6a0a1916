// Scores of waiting jobs with the order `shortest` (docs/adr/0018).

#include "scheduler/policy/shortest_first.hpp"

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

Policy shortest_first(PreemptionMode mode) {
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.preemption.mode = mode;
    QueuePolicy queue;
    queue.name = "default";
    queue.order = QueueOrder::shortest;
    pool.queues = {queue};
    policy.pools = {pool};
    return policy;
}

// Two of three ranks are terminating and still at work, while their replacements wait: the
// remaining work of the job decreases. With a cached score, an engine that continued had another
// order than an engine that was restored from its image (found by simulation).
TEST(ShortestFirstScore, decreases_while_terminating_ranks_of_a_waiting_job_still_work) {
    EngineWorld world;
    world.set(shortest_first(PreemptionMode::shortest));
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

// Regression: "0s remaining, predicted from its limit" of a job that may run for five hours, while
// nothing says for how long it will.
TEST(ShortestFirstScore, an_unknown_run_time_is_shown_with_what_it_counts_as) {
    for (const PreemptionMode mode : {PreemptionMode::shortest, PreemptionMode::priority}) {
        EngineWorld world;
        world.set(shortest_first(mode));
        world.add(node("a", 1));
        world.add(pod("runs", "runs", 1));
        world.run();
        const auto shown = [&world](const char* name, std::int64_t limit_s,
                                    std::int64_t expected_s) {
            PodFacts facts = pod(name, name, 1);
            facts.run_time_max = Duration::seconds(limit_s);
            facts.run_time_expected = Duration::seconds(expected_s);
            world.add(facts);
            world.run();
            return turn_of(world.engine.state(), {"team-a", name})->run_time.value();
        };
        const bool is_left = mode == PreemptionMode::shortest;
        const TurnView::RunTime limited = shown("limited", 18'000, 0);
        EXPECT_EQ(limited.is_left, is_left);
        EXPECT_EQ(limited.is_known, !is_left) << "the limit counts where it is the run time";
        if (is_left) {
            EXPECT_EQ(limited.time, kShortestFelt);
        } else {
            EXPECT_GE(limited.time, Duration::seconds(17'000));
        }
        EXPECT_FALSE(shown("neither", 0, 0).is_known);
        const TurnView::RunTime stated = shown("stated", 18'000, 7'200);
        EXPECT_TRUE(stated.is_known);
        EXPECT_GE(stated.time, Duration::seconds(7'000));
        world.now = world.now + Duration::seconds(600);
        PodFacts ended = world.pods.at("runs");
        ended.phase = PodPhase::succeeded;
        world.add(ended);
        world.run();
        EXPECT_TRUE(shown("learns", 18'000, 0).is_known);
    }
}

}  // namespace
}  // namespace gpuctl::test
