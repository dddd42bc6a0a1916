// Counts of evictions, roll-backs and resizes: what happened counts, not what was requested.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

constexpr Duration kOneHour = Duration::seconds(3'600);

void let_pass(EngineWorld& world, Duration span) {
    world.now = world.now + span;
    world.send(WokeUp{});
}

PodFacts start_running(EngineWorld& world, PodFacts pod) {
    pod.phase = PodPhase::running;
    pod.started_at = world.now;
    pod.node = world.node_of(pod.uid);
    world.add(pod);
    return pod;
}

// A pod of a Deployment: its controller gives it no index and a name of its own.
PodFacts web_replica(const std::string& name, std::int64_t gpus = 1) {
    PodFacts out = pod(name, "Deployment.6d8f:web", gpus);
    out.preemptible = true;
    return out;
}

PodFacts urgent_pod(const std::string& name, std::int64_t gpus = 1) {
    PodFacts out = pod(name, name, gpus);
    out.priority = 50;
    return out;
}

// The API server accepts the eviction of the pod, and its controller creates a replacement.
std::string evict_and_replace(EngineWorld& world, const std::string& uid) {
    PodFacts successor = world.pods.at(uid);
    world.answer_eviction(uid);
    world.pods.at(uid).terminating = true;
    world.show(uid);
    successor.uid += "x";
    successor.key.name = successor.uid;
    successor.node.clear();
    successor.phase = PodPhase::pending;
    successor.started_at = Instant{};
    successor.created_at = world.now;
    world.add(successor);  // before the old one is gone
    world.remove_pod(uid);
    return successor.uid;
}

// Short work of high priority comes again and again: each time the youngest replica, the cheapest
// one, would be evicted.
TEST(Churn, one_replica_of_many_is_moved_no_more_often_than_its_budget_allows) {
    EngineWorld world;
    world.add(node("a", 4));
    for (const char* name : {"w1", "w2", "w3", "w4"}) world.add(web_replica(name));
    world.run();
    for (const char* name : {"w1", "w2", "w3", "w4"}) start_running(world, world.pods.at(name));
    let_pass(world, Duration::seconds(60));
    std::map<std::string, int> moved;  // by the name of the first pod in its place
    for (int i = 0; i < 12; ++i) {
        const std::string name = "u" + std::to_string(i);
        world.add(urgent_pod(name));
        world.run();
        if (world.evictions.empty()) break;
        const std::string victim = world.evictions.begin()->first;
        ++moved[victim.substr(0, 2)];
        evict_and_replace(world, victim);
        world.run();
        world.pods.at(name).phase = PodPhase::succeeded;
        world.show(name);
        world.remove_pod(name);
        world.run();
        for (const auto& [uid, facts] : world.pods) {
            if (facts.phase == PodPhase::pending) start_running(world, facts);
        }
        let_pass(world, Duration::seconds(10));
    }
    ASSERT_EQ(moved.size(), 4U) << "each replica had its turn";
    for (const auto& [name, times] : moved) EXPECT_EQ(times, 2) << name;
    let_pass(world, kOneHour);
    world.run();
    EXPECT_FALSE(world.evictions.empty()) << "an hour later they may be moved again";
}

TEST(Churn, a_pod_that_is_one_more_was_never_moved) {
    EngineWorld world;
    Policy policy;
    policy.evictions_per_job_per_hour = 1;
    world.set(policy);
    world.add(node("a", 2));
    world.add(web_replica("w1"));
    world.add(web_replica("w2"));
    world.run();
    world.add(urgent_pod("u1"));
    world.run();
    const std::string moved = world.evictions.begin()->first;
    evict_and_replace(world, moved);
    world.run();
    world.add(node("b", 1));
    world.run();
    world.add(node("c", 1));
    world.add(web_replica("w3"));  // no vacancy is left
    world.run();
    world.add(urgent_pod("u2"));
    world.add(urgent_pod("u3"));
    world.run();
    std::set<std::string> asked;
    for (const auto& [uid, eviction] : world.evictions) asked.insert(uid);
    EXPECT_EQ(asked.size(), 2U) << "all but the one that was moved";
    EXPECT_FALSE(asked.contains(moved + "x"));
}

TEST(Churn, figures_count_the_pods_that_went) {
    EngineWorld world;
    world.add(node("a", 2));
    world.add(web_replica("w1"));
    world.add(web_replica("w2"));
    world.run();
    start_running(world, world.pods.at("w1"));
    start_running(world, world.pods.at("w2"));
    let_pass(world, Duration::seconds(100));
    world.add(urgent_pod("u", 2));
    world.run();
    ASSERT_EQ(world.evictions.size(), 2U);
    EXPECT_EQ(world.engine.figures().pods_preempted, 0U);
    EXPECT_EQ(world.engine.figures().lost_gpu_seconds, 0U);
    world.answer_eviction("w1", EvictResult::disruption_budget);
    EXPECT_EQ(world.engine.figures().pods_preempted, 0U);
    world.answer_eviction("w2");
    EXPECT_EQ(world.engine.figures().pods_preempted, 1U);
    EXPECT_EQ(world.engine.figures().lost_gpu_seconds, 100U);
}

TEST(Churn, a_roll_back_is_counted_when_a_rank_is_deleted_and_once) {
    EngineWorld world;
    Policy policy;
    policy.gang_bind_deadline = Duration::seconds(10);
    world.set(policy);
    world.add(node("a", 8));
    world.add(gang("g", 2, 4));
    world.plan();
    world.answer("g-0");
    world.show("g-0");
    world.answer("g-1", BindResult::failed);
    for (int i = 0; i < 20 && world.sent<DeletePod>().empty(); ++i) {
        let_pass(world, Duration::seconds(1));
        world.plan();
        if (world.pending.contains("g-1")) world.answer("g-1", BindResult::failed);
    }
    ASSERT_EQ(world.sent<DeletePod>().size(), 1U);
    EXPECT_EQ(world.engine.figures().gang_rollbacks, 0U);
    world.send(PodDeleteOutcome{world.sent<DeletePod>().back().id, "g-0", false, "forbidden"});
    EXPECT_EQ(world.engine.figures().gang_rollbacks, 0U) << "nothing was undone";
    for (int i = 0; i < 60 && world.sent<DeletePod>().size() < 2; ++i) {
        let_pass(world, Duration::seconds(1));
        world.plan();
        if (world.pending.contains("g-1")) world.answer("g-1", BindResult::failed);
    }
    ASSERT_EQ(world.sent<DeletePod>().size(), 2U);
    world.send(PodDeleteOutcome{world.sent<DeletePod>().back().id, "g-0", true, ""});
    world.remove_pod("g-0");
    EXPECT_EQ(world.engine.figures().gang_rollbacks, 1U);
}

// It may stay as long as its disruption budget requires, and ends by itself.
TEST(Churn, a_run_that_was_to_be_stopped_and_ended_by_itself_is_a_whole_run) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts low = web_replica("low", 8);
    low.runs_to_end = true;
    low.checkpoint_interval = Duration::seconds(10);
    world.add(low);
    world.run();
    start_running(world, world.pods.at("low"));
    let_pass(world, Duration::seconds(100));
    world.add(urgent_pod("u1", 8));
    world.run();
    const std::string again = evict_and_replace(world, "low");
    world.run();
    world.remove_pod("u1");
    world.run();
    start_running(world, world.pods.at(again));
    let_pass(world, Duration::seconds(50));
    world.add(urgent_pod("u2", 8));
    world.run();
    world.answer_eviction(again, EvictResult::disruption_budget);
    world.pods.at(again).phase = PodPhase::succeeded;
    world.pods.at(again).finished_at = world.now;
    world.show(again);
    const auto& owners = world.engine.state().run_times.history().owners();
    ASSERT_EQ(owners.size(), 1U);
    ASSERT_EQ(owners[0].runs.size(), 1U);
    EXPECT_EQ(owners[0].runs[0].lasted, Duration::seconds(150));
}

// No pod was evicted in vain: its eviction is requested again after a minute, not after an hour.
TEST(Churn, a_pod_whose_eviction_failed_as_long_as_the_claim_lasted_is_left_alone_for_a_minute) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(web_replica("w1"));
    world.run();
    world.add(urgent_pod("u"));
    world.run();
    const Instant ends = world.now + Duration::seconds(30 + 60);
    while (world.now < ends) {
        if (world.evictions.contains("w1")) world.answer_eviction("w1", EvictResult::failed);
        let_pass(world, Duration::seconds(1));
        world.plan();
    }
    ASSERT_TRUE(world.evictions.empty());
    let_pass(world, world.policy.backoff_maximum + Duration{1});
    world.plan();
    EXPECT_TRUE(world.evictions.contains("w1"));
}

// One pod is evicted, the other may not be: the first was evicted in vain. Once the blocking
// disruption budget is gone, both may be evicted again within minutes.
TEST(Churn, of_a_claim_in_vain_who_could_not_go_is_asked_again_after_five_minutes) {
    EngineWorld world;
    world.add(node("a", 2));
    world.add(web_replica("w1"));
    world.add(web_replica("w2"));
    world.run();
    world.add(urgent_pod("u", 2));
    world.run();
    ASSERT_TRUE(world.evictions.contains("w1") && world.evictions.contains("w2"));
    const std::string again = evict_and_replace(world, "w1");
    const Instant ends = world.now + Duration::seconds(30 + 60);
    while (world.now < ends) {
        if (world.evictions.contains("w2")) {
            world.answer_eviction("w2", EvictResult::disruption_budget);
        }
        let_pass(world, Duration::seconds(1));
        world.plan();
    }
    EXPECT_TRUE(world.evictions.empty());
    world.run();
    EXPECT_EQ(world.node_of(again), "a") << "the room is kept no longer";
    let_pass(world, Duration::seconds(200));
    world.plan();
    EXPECT_TRUE(world.evictions.empty()) << "nor is anybody stopped again at once";
    let_pass(world, Duration::seconds(110));
    world.plan();
    EXPECT_TRUE(world.evictions.contains("w2") && world.evictions.contains(again));
}

}  // namespace
}  // namespace gpuctl::test
