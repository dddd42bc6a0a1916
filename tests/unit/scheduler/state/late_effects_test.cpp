// Writes without an answer may be executed long after: by then a new term has requested them again
// and got another answer.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

void pass(EngineWorld& world, Duration span) {
    world.now = world.now + span;
    world.send(WokeUp{});
}

BindPod bind_in_flight(EngineWorld& world, const std::string& uid) { return world.pending.at(uid); }

TEST(LateEffects, a_failed_resend_keeps_its_room_until_the_first_bind_cannot_land_any_more) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    const BindPod first = bind_in_flight(world, "p");
    world.send(LeadershipChanged{true, Epoch{2}});
    world.plan();
    ASSERT_NE(bind_in_flight(world, "p").id, first.id);
    world.answer("p", BindResult::failed);
    EXPECT_EQ(world.node_of("p"), "a") << "the first bind may still land there";
    world.add(pod("q", "q", 8));
    world.plan();
    EXPECT_EQ(world.node_of("q"), "");
    // The bind is requested again on the same node only, as long as the first may be executed.
    world.add(node("b", 8));
    pass(world, world.policy.backoff_initial);
    world.plan();
    EXPECT_EQ(bind_in_flight(world, "p").node, "a");
    EXPECT_EQ(world.node_of("q"), "b");
    world.answer("p", BindResult::failed);
    pass(world, first.deadline - world.now);
    world.plan();
    if (world.pending.contains("p")) world.answer("p", BindResult::failed);
    pass(world, world.policy.backoff_maximum);
    world.remove_node("a");
    world.plan();
    EXPECT_EQ(world.node_of("p"), "") << "no bind can land any more";
}

TEST(LateEffects, a_refused_resend_keeps_its_room_as_a_failed_one_does) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    const BindPod first = bind_in_flight(world, "p");
    world.send(LeadershipChanged{true, Epoch{2}});
    world.plan();
    world.answer("p", BindResult::refused);
    EXPECT_EQ(world.node_of("p"), "a") << "the first bind may still land there";
    world.plan();
    EXPECT_TRUE(world.pending.empty()) << "not at once";
    pass(world, first.deadline - world.now + Duration{1});
    world.remove_node("a");
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
}

TEST(LateEffects, a_failed_bind_of_one_term_gives_its_room_back_at_once) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    world.answer("p", BindResult::failed);
    EXPECT_EQ(world.node_of("p"), "");
}

TEST(LateEffects, room_kept_for_a_late_bind_survives_export_and_import) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    world.send(LeadershipChanged{true, Epoch{2}});
    world.plan();
    world.answer("p", BindResult::failed);
    auto revived = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(revived.has_value());
    EXPECT_EQ(revived->state_hash(), world.engine.state_hash());
    const PodId id = revived->state().pods.find_pod("p");
    EXPECT_EQ(revived->state().pod(id).bind.state, BindState::assumed);
    EXPECT_TRUE(revived->state().pod(id).bind.unsure_until.happened());
}

TEST(LateEffects, no_bind_is_requested_again_on_a_removed_node_even_if_the_first_may_land) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(node("b", 1));
    std::vector<PodFacts> ranks = gang("g", 2, 1);
    for (PodFacts& rank : ranks) rank.gang_min = 1;
    world.add(ranks);
    world.plan();
    ASSERT_EQ(world.pending.size(), 2U);
    world.send(LeadershipChanged{true, Epoch{2}});
    world.plan();
    const std::string gone = bind_in_flight(world, "g-0").node;
    world.answer("g-0", BindResult::failed);
    world.remove_node(gone);  // EngineWorld fails a bind to a node that does not exist
    world.answer("g-1");
    world.show("g-1");
    pass(world, world.policy.backoff_initial);
    world.plan();
    EXPECT_FALSE(world.pending.contains("g-0"));
    pass(world, world.policy.gang_bind_deadline);
    world.plan();
    EXPECT_EQ(world.node_of("g-0"), "");
}

JobRecord record(const std::string& name) {
    JobRecord job;
    job.uid = "uid-of-" + name;
    job.spec.key = {"team-a", name};
    return job;
}

std::size_t binds_of(const EffectList& effects) {
    return static_cast<std::size_t>(
        std::count_if(effects.begin(), effects.end(),
                      [](const Effect& one) { return std::holds_alternative<BindPod>(one); }));
}

// Regression: gpuctld was killed in the middle of a gang and the nodes filled up meanwhile. It sent
// the rest of the binds and used three times as many GPUs as exist.
TEST(LateEffects, no_bind_is_requested_again_in_room_that_foreign_pods_use) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(node("b", 4));
    world.add(gang("g", 4, 2));
    world.plan();
    ASSERT_EQ(world.pending.size(), 4u);
    world.answer("g-0");
    PodFacts foreign = pod("foreign", "foreign", 2);
    foreign.ours = false;
    foreign.node = "a";
    world.add(foreign);
    foreign = pod("another", "another", 4);
    foreign.ours = false;
    foreign.node = "b";
    world.add(foreign);
    world.send(LeadershipChanged{true, Epoch{2}});
    world.send(CacheSynced{});
    world.plan();
    EXPECT_EQ(binds_of(world.last), 0u);
    pass(world, world.policy.gang_bind_deadline + Duration{1});
    world.plan();
    for (const char* rank : {"g-1", "g-2", "g-3"}) EXPECT_EQ(world.node_of(rank), "") << rank;
    EXPECT_TRUE(std::any_of(world.effects.begin(), world.effects.end(), [](const Effect& one) {
        return std::holds_alternative<DeletePod>(one);
    })) << "one of four is no gang";
}

// Regression: the leader was killed after it had requested the eviction of one rank of two. The
// next leader, for which no gang had ever started, evicted another gang as a whole instead.
TEST(LateEffects, a_gang_with_a_terminating_rank_when_first_observed_is_evicted_completely) {
    EngineWorld world{EngineWorld::Bare{}};
    world.add(node("a", 8));
    world.add(node("b", 8));
    for (const auto& [job, on] : {std::pair{"wa", "a"}, std::pair{"wb", "b"}}) {
        for (PodFacts& rank : gang(job, 2, 4)) {
            rank.preemptible = true;
            rank.node = on;
            rank.phase = PodPhase::running;
            rank.terminating = rank.uid == "wa-0";
            world.add(rank);
        }
    }
    world.send(LeadershipChanged{true, Epoch{2}});
    world.send(CacheSynced{});
    PodFacts high = pod("high", "high", 8);
    high.priority = 10;
    world.add(high);
    world.plan();
    EXPECT_EQ(world.evictions.size(), 1u);
    EXPECT_TRUE(world.evictions.contains("wa-1"));
}

TEST(LateEffects, a_job_is_deleted_again_when_an_unanswered_creation_may_recreate_it) {
    EngineWorld world;
    world.send(JobSubmitted{record("a")});
    const CreateWorkload lost = world.sent<CreateWorkload>().back();
    world.send(LeadershipChanged{true, Epoch{2}});
    const CreateWorkload again = world.sent<CreateWorkload>().back();
    ASSERT_NE(again.id, lost.id);
    world.send(WorkloadOutcome{again.id, again.job->spec.key, true, false, ""});
    world.send(JobDeleteRequested{{"team-a", "a"}, false});
    const DeleteWorkload deletion = world.sent<DeleteWorkload>().back();
    world.send(WorkloadOutcome{deletion.id, deletion.key, true, false, ""});
    EXPECT_TRUE(world.engine.state().jobs.find_job({"team-a", "a"}).exists());
    EXPECT_EQ(world.sent<DeleteWorkload>().size(), 1U);
    pass(world, lost.deadline - world.now + Duration{1});
    ASSERT_EQ(world.sent<DeleteWorkload>().size(), 2U);
    const DeleteWorkload last = world.sent<DeleteWorkload>().back();
    world.send(WorkloadOutcome{last.id, last.key, true, false, ""});
    EXPECT_FALSE(world.engine.state().jobs.find_job({"team-a", "a"}).exists());
}

TEST(LateEffects, a_job_whose_creation_was_answered_is_deleted_once) {
    EngineWorld world;
    world.send(JobSubmitted{record("a")});
    const CreateWorkload create = world.sent<CreateWorkload>().back();
    world.send(WorkloadOutcome{create.id, create.job->spec.key, true, false, ""});
    world.send(JobDeleteRequested{{"team-a", "a"}, false});
    const DeleteWorkload deletion = world.sent<DeleteWorkload>().back();
    world.send(WorkloadOutcome{deletion.id, deletion.key, true, false, ""});
    EXPECT_FALSE(world.engine.state().jobs.find_job({"team-a", "a"}).exists());
}

}  // namespace
}  // namespace gpuctl::test
