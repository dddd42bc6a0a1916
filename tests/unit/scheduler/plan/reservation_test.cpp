// The search result of a reservation is cached while its pool is unchanged, and not a Plan longer.

#include "scheduler/plan/backfill/reservation.hpp"

#include <functional>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// Node a is free after 100 s, node b after 200 s, and "next" waits for one of them.
class KeptPromise : public testing::Test {
protected:
    void SetUp() override {
        world.add(node("a", 8));
        submit("runs-a", 100);
        world.add(node("b", 8));
        submit("runs-b", 200);
        submit("next", 50);
        begin =
            world.engine.state().pod(world.engine.state().pods.find_pod("runs-a")).bind.placed_at;
    }
    void submit(const std::string& name, std::int64_t limit_s) {
        PodFacts one = pod(name, name, 8);
        one.run_time_max = Duration::seconds(limit_s);
        world.add(one);
        world.run();
    }
    [[nodiscard]] Duration promised_after() const {
        const ClusterState& state = world.engine.state();
        const HeadReservation& promise =
            state.pool(state.tree.find_pool(kDefaultPool)).reservations.head;
        EXPECT_EQ(promise.job, state.jobs.find_job({"team-a", "next"}));
        return promise.at - begin;
    }
    void change_node(const std::function<void(NodeFacts&)>& how) {
        how(world.nodes.at("a"));
        world.add(world.nodes.at("a"));
        world.run();
    }
    [[nodiscard]] std::uint64_t searches() const { return world.engine.figures().promise_searches; }
    EngineWorld world;
    Instant begin;
};

TEST_F(KeptPromise, is_not_searched_again_while_nothing_in_the_pool_changes) {
    ASSERT_EQ(promised_after(), Duration::seconds(100));
    const std::uint64_t before = searches();
    ASSERT_GT(before, 0u);
    for (int i = 0; i < 5; ++i) submit("later-" + std::to_string(i), 500);
    EXPECT_EQ(searches(), before);
    EXPECT_EQ(promised_after(), Duration::seconds(100));
}

// Regression: the Plans after the change ran out of attempts. The last of them kept the result of
// the first, and it was not computed again.
TEST_F(KeptPromise, ends_with_the_policy_that_made_it) {
    for (int gpus = 1; gpus < 5; ++gpus) {  // each of its own class
        const std::string name = "later-" + std::to_string(gpus);
        world.add(pod(name, name, gpus));
        world.run();
    }
    ASSERT_EQ(promised_after(), Duration::seconds(100));
    Policy policy;
    policy.plan_attempts_max = 1;
    policy.pools = {PoolPolicy{kDefaultPool, "", {}, {}}};
    policy.pools.front().backfill.head = HeadOfLine::step_aside;
    world.set(policy);
    world.run();
    const ClusterState& state = world.engine.state();
    EXPECT_FALSE(state.session.is_unfinished());
    EXPECT_FALSE(state.pool(state.tree.find_pool(kDefaultPool)).reservations.head.job.exists());
}

// Running work on a has outlasted its limit; it has no room in time for "next" any more, and
// nothing in the pool has changed.
TEST_F(KeptPromise, whose_moment_is_over_is_made_anew_when_a_window_has_come_too_near) {
    MaintenanceWindow window;
    window.name = "w";
    window.nodes = {"a"};
    window.begin = begin + Duration::seconds(170);
    window.length = Duration::seconds(60);
    Policy policy = world.policy;
    policy.windows = {window};
    world.set(policy);
    world.run();
    ASSERT_EQ(promised_after(), Duration::seconds(100));
    world.now = begin + Duration::seconds(130);
    submit("later", 500);
    EXPECT_EQ(promised_after(), Duration::seconds(200));
}

TEST_F(KeptPromise, still_holds_others_back_when_it_is_an_old_one) {
    world.add(node("c", 4));
    PodFacts half = pod("half", "half", 4);
    world.add(half);
    world.run();
    EXPECT_EQ(world.pods.at("half").node, "c") << "it is not promised";
    submit("long", 500);
    EXPECT_EQ(world.pods.at("long").node, "");
}

TEST_F(KeptPromise, moves_when_its_node_is_cordoned_and_back) {
    change_node([](NodeFacts& a) { a.unschedulable = true; });
    EXPECT_EQ(promised_after(), Duration::seconds(200));
    change_node([](NodeFacts& a) { a.unschedulable = false; });
    EXPECT_EQ(promised_after(), Duration::seconds(100));
}

TEST_F(KeptPromise, moves_when_its_node_shrinks) {
    change_node([](NodeFacts& a) { a.allocatable = room(4); });
    EXPECT_EQ(promised_after(), Duration::seconds(200));
}

TEST_F(KeptPromise, moves_when_its_node_goes_to_another_pool) {
    change_node([](NodeFacts& a) { a.pool = "other"; });
    EXPECT_EQ(promised_after(), Duration::seconds(200));
}

TEST_F(KeptPromise, moves_when_what_it_waits_for_started_late) {
    world.pods.at("runs-a").phase = PodPhase::running;
    world.pods.at("runs-a").started_at = begin + Duration::seconds(30);
    world.show("runs-a");
    world.run();
    EXPECT_EQ(promised_after(), Duration::seconds(130));
}

TEST_F(KeptPromise, moves_when_a_foreign_pod_sits_down_there) {
    PodFacts foreign = pod("foreign", "foreign", 4);
    foreign.ours = false;
    foreign.node = "a";
    world.add(foreign);
    world.run();
    EXPECT_EQ(promised_after(), Duration::seconds(200));
}

TEST_F(KeptPromise, is_made_for_another_shape_when_another_is_first) {
    PodFacts urgent = pod("urgent", "urgent", 2);
    urgent.priority = 10;
    urgent.run_time_max = Duration::seconds(10);
    world.add(urgent);
    world.run();
    const ClusterState& state = world.engine.state();
    const HeadReservation& promise =
        state.pool(state.tree.find_pool(kDefaultPool)).reservations.head;
    EXPECT_EQ(promise.job, state.jobs.find_job({"team-a", "urgent"}));
    EXPECT_EQ(promise.at - begin, Duration::seconds(100));
    world.remove_pod("urgent");
    world.run();
    EXPECT_EQ(promised_after(), Duration::seconds(100));
}

}  // namespace
}  // namespace gpuctl::test
