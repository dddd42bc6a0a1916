// The plan of a cycle names the cycle's decisions (docs/adr/0037).

#include "scheduler/plan/cycle_plan.hpp"

#include <map>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class PlanOfACycle : public testing::Test {
protected:
    const CyclePlan& after_one_cycle() {
        world.send(Plan{});
        return world.engine.last_plan();
    }
    [[nodiscard]] JobId job(const std::string& name) const {
        return world.engine.state().jobs.find_job({"team-a", name});
    }
    [[nodiscard]] PodId pod_id(const std::string& uid) const {
        return world.engine.state().pods.find_pod(uid);
    }
    // Nodes by pod, as effects of the last step.
    [[nodiscard]] std::map<std::string, std::string> binds() const {
        std::map<std::string, std::string> out;
        for (const Effect& effect : world.last) {
            if (const auto* bind = std::get_if<BindPod>(&effect)) out[bind->pod.uid] = bind->node;
        }
        return out;
    }
    [[nodiscard]] std::map<std::string, std::string> placed() const {
        const ClusterState& state = world.engine.state();
        std::map<std::string, std::string> out;
        for (const CyclePlan::Placed& one : world.engine.last_plan().placed) {
            out[state.pod(one.at.pod).facts.uid] = state.node(one.at.node).facts.name;
        }
        return out;
    }
    void run_low_priority_pod() {
        world.add(node("a", 4));
        PodFacts low = pod("low", "low", 4);
        low.preemptible = true;
        world.add(low);
        world.run();
    }
    void add_high_priority_pod() {
        PodFacts high = pod("high", "high", 4);
        high.priority = 10;
        world.add(high);
    }

    EngineWorld world;
};

TEST_F(PlanOfACycle, places_each_pod_that_is_bound) {
    world.add(node("a", 4));
    world.add(node("b", 4));
    world.add(gang("llm", 2, 3));
    world.add(pod("single", "single", 1));
    const CyclePlan& plan = after_one_cycle();
    EXPECT_EQ(binds().size(), 3U);
    EXPECT_EQ(placed(), binds());
    for (const CyclePlan::Placed& one : plan.placed) {
        EXPECT_EQ(one.why, CyclePlan::PlacedFor::turn);
    }
    EXPECT_TRUE(plan.evicted.empty());
    EXPECT_TRUE(plan.refused.empty());
}

TEST_F(PlanOfACycle, has_no_decision_of_the_cycle_before) {
    world.add(node("a", 4));
    world.add(pod("single", "single", 1));
    after_one_cycle();
    const CyclePlan& plan = after_one_cycle();
    EXPECT_TRUE(plan.placed.empty());
    EXPECT_TRUE(plan.reported.empty());
    EXPECT_EQ(plan.effort.attempts, 0U);
}

TEST_F(PlanOfACycle, refuses_the_class_of_a_job_that_finds_no_room_and_reports_its_reason) {
    world.add(node("a", 2));
    world.add(pod("large", "large", 4));
    const CyclePlan& plan = after_one_cycle();
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_EQ(plan.refused.front().job, job("large"));
    EXPECT_TRUE(plan.refused.front().of.exists());
    EXPECT_EQ(plan.refused.front().reason, world.why("large").front().reason);
    ASSERT_EQ(plan.reported.size(), 1U);
    EXPECT_EQ(plan.reported.front().reason, plan.refused.front().reason);
}

TEST_F(PlanOfACycle, refuses_a_job_that_cannot_be_tried_without_its_class) {
    world.add(node("a", 4));
    PodFacts half = gang("llm", 2, 1).front();
    world.add(half);
    const CyclePlan& plan = after_one_cycle();
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_FALSE(plan.refused.front().of.exists());
    EXPECT_EQ(plan.refused.front().reason, Reason::gang_incomplete);
}

TEST_F(PlanOfACycle, names_the_victim_its_beneficiary_and_the_nomination) {
    run_low_priority_pod();
    add_high_priority_pod();
    const CyclePlan& plan = after_one_cycle();
    ASSERT_EQ(plan.evicted.size(), 1U);
    EXPECT_EQ(plan.evicted.front().pod, pod_id("low"));
    EXPECT_EQ(plan.evicted.front().preemptor, job("high"));
    EXPECT_EQ(plan.evicted.front().cause, EvictionCause::preempted);
    ASSERT_EQ(plan.nominated.size(), 1U);
    EXPECT_EQ(plan.nominated.front().job, job("high"));
    EXPECT_EQ(plan.nominated.front().ranks, 1U);
    EXPECT_TRUE(plan.placed.empty());
}

TEST_F(PlanOfACycle, says_that_a_pod_is_placed_in_its_nominated_room) {
    run_low_priority_pod();
    add_high_priority_pod();
    world.plan();
    world.remove_pod("low");
    const CyclePlan& plan = after_one_cycle();
    ASSERT_EQ(plan.placed.size(), 1U);
    EXPECT_EQ(plan.placed.front().why, CyclePlan::PlacedFor::nomination);
    EXPECT_EQ(placed(), binds());
}

TEST_F(PlanOfACycle, names_the_reservation_of_the_head_of_line_job) {
    world.add(node("a", 4));
    PodFacts runs = pod("runs", "runs", 3);
    runs.run_time_max = Duration::seconds(100);
    world.add(runs);
    world.run();
    world.add(pod("head", "head", 4));
    world.plan();
    const ClusterState& state = world.engine.state();
    const PoolId pool = state.tree.find_pool(kDefaultPool);
    const HeadReservation kept = state.pool(pool).reservations.head;
    ASSERT_EQ(kept.job, job("head"));
    world.add(pod("next", "next", 4));
    const CyclePlan& plan = after_one_cycle();
    ASSERT_FALSE(plan.reserved.empty());
    EXPECT_EQ(plan.reserved.back().of, kept);
    EXPECT_EQ(plan.reserved.back().kind, CyclePlan::ReservedKind::nodes);
}

TEST_F(PlanOfACycle, is_what_the_figures_count) {
    world.add(node("a", 4));
    world.add(gang("llm", 2, 2));
    world.add(pod("large", "large", 8));
    const EngineFigures before = world.engine.figures();
    const CyclePlan& plan = after_one_cycle();
    const EngineFigures& after = world.engine.figures();
    EXPECT_EQ(after.plans, before.plans + 1);
    EXPECT_EQ(after.placements, before.placements + plan.placed.size());
    EXPECT_EQ(after.attempts, before.attempts + plan.effort.attempts);
    ASSERT_EQ(plan.refused.size(), 1U);
    const auto reason = static_cast<std::size_t>(plan.refused.front().reason);
    EXPECT_EQ(after.refusals[reason], before.refusals[reason] + 1);
}

}  // namespace
}  // namespace gpuctl::test
