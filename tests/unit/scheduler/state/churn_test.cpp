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

// A pod that ends, and saves its work every ten seconds.
PodFacts saving_replica(const std::string& name, std::int64_t gpus) {
    PodFacts out = web_replica(name, gpus);
    out.runs_to_end = true;
    out.checkpoint_interval = Duration::seconds(10);
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
    world.add(successor);  // before the old pod is gone
    world.remove_pod(uid);
    return successor.uid;
}

// Short jobs of high priority are submitted again and again: each time the youngest replica, the
// cheapest one, would be evicted.
TEST(Churn, one_replica_of_many_is_evicted_no_more_often_than_its_budget_allows) {
    EngineWorld world;
    world.add(node("a", 4));
    for (const char* name : {"w1", "w2", "w3", "w4"}) world.add(web_replica(name));
    world.run();
    for (const char* name : {"w1", "w2", "w3", "w4"}) start_running(world, world.pods.at(name));
    let_pass(world, Duration::seconds(60));
    std::map<std::string, int> evicted;  // by the name of the first pod in its place
    for (int i = 0; i < 12; ++i) {
        const std::string name = "u" + std::to_string(i);
        world.add(urgent_pod(name));
        world.run();
        if (world.evictions.empty()) break;
        const std::string victim = world.evictions.begin()->first;
        ++evicted[victim.substr(0, 2)];
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
    ASSERT_EQ(evicted.size(), 4U) << "each replica was evicted";
    for (const auto& [name, times] : evicted) EXPECT_EQ(times, 2) << name;
    let_pass(world, kOneHour);
    world.run();
    EXPECT_FALSE(world.evictions.empty()) << "an hour later they may be evicted again";
}

TEST(Churn, an_additional_pod_inherits_no_evictions) {
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
    const std::string evicted = world.evictions.begin()->first;
    evict_and_replace(world, evicted);
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
    EXPECT_EQ(asked.size(), 2U) << "all but the one that was evicted";
    EXPECT_FALSE(asked.contains(evicted + "x"));
}

TEST(Churn, figures_count_only_accepted_evictions) {
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

// A disruption budget keeps the pod, and it ends by itself.
TEST(Churn, a_run_that_ended_before_its_pending_eviction_is_a_complete_run) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(saving_replica("low", 8));
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

// Its image was still being pulled when the eviction was ordered. The time since its placement, the
// best that was known then, must not be kept as work once its start is known.
TEST(Churn, work_counts_from_a_start_that_is_reported_after_the_eviction_was_ordered) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(saving_replica("low", 8));
    world.run();
    let_pass(world, Duration::seconds(60));
    world.add(urgent_pod("u1", 8));
    world.run();
    ASSERT_TRUE(world.evictions.contains("low"));
    let_pass(world, Duration::seconds(5));
    start_running(world, world.pods.at("low"));
    let_pass(world, Duration::seconds(25));
    const std::string again = evict_and_replace(world, "low");
    const ClusterState& state = world.engine.state();
    const JobRow& job = state.job(state.pod(state.pods.find_pod(again)).job);
    EXPECT_EQ(state.run_times.progress_of(job), Duration::seconds(20)) << "two whole intervals";
}

// Half of a gang has gone, the nomination that asked for it is used, and the rest is asked again
// for another job before its first eviction is answered.
TEST(Churn, a_gang_that_goes_in_two_orders_has_moved_once) {
    EngineWorld world;
    world.add(node("a", 4));
    for (PodFacts rank : gang("g", 2, 2)) {
        rank.preemptible = true;
        world.add(rank);
    }
    world.run();
    for (const char* rank : {"g-0", "g-1"}) start_running(world, world.pods.at(rank));
    world.add(urgent_pod("u1", 2));
    world.plan();
    ASSERT_EQ(world.sent<EvictPod>().size(), 2U);
    world.answer_eviction("g-1");
    world.remove_pod("g-1");
    world.run();
    ASSERT_EQ(world.node_of("u1"), "a");
    world.add(urgent_pod("u2", 2));
    world.run();
    ASSERT_EQ(world.sent<EvictPod>().size(), 3U) << "its other rank is asked again";
    world.answer_eviction("g-0");
    const auto& moved = world.engine.state().evictions.churn();
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved.begin()->second.evicted_at.size(), 1U);
}

// No pod was evicted in vain: its eviction is requested again after a minute, not after an hour.
TEST(Churn, a_pod_whose_eviction_failed_for_the_whole_nomination_is_spared_for_a_minute) {
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
TEST(Churn, after_a_failed_nomination_its_victims_are_asked_again_after_five_minutes) {
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
    EXPECT_EQ(world.node_of(again), "a") << "the nomination has ended";
    let_pass(world, Duration::seconds(200));
    world.plan();
    EXPECT_TRUE(world.evictions.empty()) << "no pod is evicted again at once";
    let_pass(world, Duration::seconds(110));
    world.plan();
    EXPECT_TRUE(world.evictions.contains("w2") && world.evictions.contains(again));
}

}  // namespace
}  // namespace gpuctl::test
