// The search result of a reservation is cached while its pool is unchanged, and no cycle longer.

#include "scheduler/plan/backfill/reservation.hpp"

#include <functional>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// Node a is free after 100 s, node b after 200 s, and "next" waits for one of them.
class CachedReservation : public testing::Test {
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
    [[nodiscard]] Duration reserved_after() const {
        const ClusterState& state = world.engine.state();
        const HeadReservation& reservation =
            state.pool(state.tree.find_pool(kDefaultPool)).reservations.head;
        EXPECT_EQ(reservation.job, state.jobs.find_job({"team-a", "next"}));
        return reservation.at - begin;
    }
    void change_node(const std::function<void(NodeFacts&)>& how) {
        how(world.nodes.at("a"));
        world.add(world.nodes.at("a"));
        world.run();
    }
    [[nodiscard]] std::uint64_t searches() const {
        return world.engine.figures().reservation_searches;
    }
    EngineWorld world;
    Instant begin;
};

TEST_F(CachedReservation, is_not_searched_again_while_nothing_in_the_pool_changes) {
    ASSERT_EQ(reserved_after(), Duration::seconds(100));
    const std::uint64_t before = searches();
    ASSERT_GT(before, 0u);
    for (int i = 0; i < 5; ++i) submit("later-" + std::to_string(i), 500);
    EXPECT_EQ(searches(), before);
    EXPECT_EQ(reserved_after(), Duration::seconds(100));
}

// Regression: the Plans after the change ran out of attempts. The last of them kept the result of
// the first, and it was not computed again.
TEST_F(CachedReservation, ends_with_the_policy_that_made_it) {
    for (int gpus = 1; gpus < 5; ++gpus) {  // each of its own class
        const std::string name = "later-" + std::to_string(gpus);
        world.add(pod(name, name, gpus));
        world.run();
    }
    ASSERT_EQ(reserved_after(), Duration::seconds(100));
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

// The pod on a has outlasted its limit, and "next" would not end before the window of a any more;
// nothing in the pool has changed.
TEST_F(CachedReservation, is_searched_again_when_its_start_time_has_passed) {
    MaintenanceWindow window;
    window.name = "w";
    window.nodes = {"a"};
    window.begin = begin + Duration::seconds(170);
    window.length = Duration::seconds(60);
    Policy policy = world.policy;
    policy.windows = {window};
    world.set(policy);
    world.run();
    ASSERT_EQ(reserved_after(), Duration::seconds(100));
    world.now = begin + Duration::seconds(130);
    submit("later", 500);
    EXPECT_EQ(reserved_after(), Duration::seconds(200));
}

TEST_F(CachedReservation, still_blocks_jobs_that_would_delay_it) {
    world.add(node("c", 4));
    PodFacts half = pod("half", "half", 4);
    world.add(half);
    world.run();
    EXPECT_EQ(world.pods.at("half").node, "c") << "the node is not reserved";
    submit("long", 500);
    EXPECT_EQ(world.pods.at("long").node, "");
}

TEST_F(CachedReservation, moves_when_its_node_is_cordoned_and_returns_when_it_is_uncordoned) {
    change_node([](NodeFacts& a) { a.unschedulable = true; });
    EXPECT_EQ(reserved_after(), Duration::seconds(200));
    change_node([](NodeFacts& a) { a.unschedulable = false; });
    EXPECT_EQ(reserved_after(), Duration::seconds(100));
}

TEST_F(CachedReservation, moves_when_its_node_shrinks) {
    change_node([](NodeFacts& a) { a.allocatable = room(4); });
    EXPECT_EQ(reserved_after(), Duration::seconds(200));
}

TEST_F(CachedReservation, moves_when_its_node_changes_its_pool) {
    change_node([](NodeFacts& a) { a.pool = "other"; });
    EXPECT_EQ(reserved_after(), Duration::seconds(200));
}

TEST_F(CachedReservation, is_later_when_the_pod_that_it_waits_for_started_late) {
    world.pods.at("runs-a").phase = PodPhase::running;
    world.pods.at("runs-a").started_at = begin + Duration::seconds(30);
    world.show("runs-a");
    world.run();
    EXPECT_EQ(reserved_after(), Duration::seconds(130));
}

TEST_F(CachedReservation, moves_when_a_foreign_pod_uses_its_node) {
    PodFacts foreign = pod("foreign", "foreign", 4);
    foreign.ours = false;
    foreign.node = "a";
    world.add(foreign);
    world.run();
    EXPECT_EQ(reserved_after(), Duration::seconds(200));
}

TEST_F(CachedReservation, is_searched_again_when_another_job_becomes_head_of_line) {
    PodFacts urgent = pod("urgent", "urgent", 2);
    urgent.priority = 10;
    urgent.run_time_max = Duration::seconds(10);
    world.add(urgent);
    world.run();
    const ClusterState& state = world.engine.state();
    const HeadReservation& reservation =
        state.pool(state.tree.find_pool(kDefaultPool)).reservations.head;
    EXPECT_EQ(reservation.job, state.jobs.find_job({"team-a", "urgent"}));
    EXPECT_EQ(reservation.at - begin, Duration::seconds(100));
    world.remove_pod("urgent");
    world.run();
    EXPECT_EQ(reserved_after(), Duration::seconds(100));
}

}  // namespace
}  // namespace gpuctl::test
