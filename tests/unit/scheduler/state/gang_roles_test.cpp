// A gang with roles is complete if it has enough ranks, and enough of each role (docs/adr/0026).

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

using Minima = std::vector<RoleMinimum>;

// Ranks of one GPU each, in this order: "worker", "worker", "leader".
std::vector<PodFacts> ranks_of(const std::string& job, const std::vector<std::string>& roles,
                               std::int32_t least, const Minima& minima) {
    std::vector<PodFacts> out = gang(job, static_cast<int>(roles.size()), 1);
    for (std::size_t rank = 0; rank < roles.size(); ++rank) {
        out[rank].role = roles[rank];
        out[rank].gang_min = least;
        out[rank].gang_roles = minima;
    }
    return out;
}

std::int64_t figure(const Explanation& explanation, const std::string& name) {
    for (const Figure& one : explanation.figures) {
        if (one.name == name) return one.value;
    }
    return -1;
}

TEST(GangRoles, enough_workers_do_not_start_without_their_leader) {
    EngineWorld world;
    world.add(node("a", 8));
    const auto ranks =
        ranks_of("g", {"worker", "worker", "worker", "leader"}, 3, {{"leader", 1}, {"worker", 2}});
    for (int rank = 0; rank < 3; ++rank) world.add(ranks[static_cast<std::size_t>(rank)]);
    world.run();
    EXPECT_TRUE(world.pending.empty());
    const Explanation explanation = world.why("g").front();
    EXPECT_EQ(explanation.reason, Reason::gang_incomplete);
    EXPECT_EQ(wording::sentence(explanation), "its gang has 3 of 3 ranks (role leader: 0 of 1)");
    EXPECT_EQ(figure(explanation, "role_ranks_min"), 1);
    EXPECT_EQ(figure(explanation, "role_ranks_present"), 0);
    world.add(ranks[3]);
    world.run();
    for (const PodFacts& rank : ranks) EXPECT_EQ(world.node_of(rank.uid), "a") << rank.uid;
}

TEST(GangRoles, with_little_room_the_ranks_of_missing_roles_are_placed) {
    EngineWorld world;
    world.add(node("a", 3));
    world.add(ranks_of("g", {"worker", "worker", "worker", "worker", "leader"}, 3,
                       {{"leader", 1}, {"worker", 2}}));
    world.run();
    EXPECT_EQ(world.node_of("g-4"), "a") << "the leader";
    EXPECT_EQ(world.node_of("g-0"), "a");
    EXPECT_EQ(world.node_of("g-1"), "a");
    EXPECT_EQ(world.node_of("g-2"), "") << "more workers than the minimum";
}

TEST(GangRoles, the_minimum_of_a_gang_is_at_least_the_sum_of_its_roles) {
    EngineWorld world;
    world.add(node("a", 2));
    world.add(ranks_of("g", {"leader", "worker", "worker"}, 0, {{"leader", 1}, {"worker", 2}}));
    world.run();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_EQ(figure(world.why("g").front(), "ranks_needed"), 3);
    world.add(node("b", 1));
    world.run();
    EXPECT_EQ(world.node_of("g-2"), "b");
}

TEST(GangRoles, a_pod_group_that_names_roles_wins_over_the_pods) {
    EngineWorld world;
    world.add(node("a", 2));
    world.add(ranks_of("g", {"worker", "worker", "leader"}, 3, {{"worker", 2}}));
    world.send(GangObserved{{"team-a", "g"}, {2, {{"leader", 1}}}});
    world.run();
    EXPECT_EQ(world.node_of("g-2"), "a") << "the leader";
    EXPECT_EQ(world.node_of("g-0"), "a");
    EXPECT_EQ(world.node_of("g-1"), "");
}

TEST(GangRoles, a_pod_group_without_roles_keeps_the_roles_of_the_pods) {
    EngineWorld world;
    world.add(node("a", 2));
    world.add(ranks_of("g", {"worker", "worker", "leader"}, 3, {{"leader", 1}}));
    world.send(GangObserved{{"team-a", "g"}, {2, {}}});
    world.run();
    EXPECT_EQ(world.node_of("g-2"), "a") << "the leader";
    EXPECT_EQ(world.node_of("g-1"), "");
}

TEST(GangRoles, a_gang_that_lost_its_leader_is_incomplete_although_it_has_enough_workers) {
    EngineWorld world;
    world.add(node("a", 4));
    auto ranks = ranks_of("g", {"worker", "worker", "worker", "leader"}, 3, {{"leader", 1}});
    world.add(ranks);
    world.run();
    ASSERT_EQ(world.node_of("g-3"), "a");
    world.remove_pod("g-3");
    world.add(pod("else", "", 1));  // another pod uses the room of the leader
    world.run();
    ranks[3].uid = ranks[3].key.name = "g-3-again";
    world.add(ranks[3]);
    world.run();
    const Explanation explanation = world.why("g").front();
    EXPECT_EQ(explanation.reason, Reason::gang_half_bound);
    EXPECT_EQ(wording::sentence(explanation)
                  .find("3 of 3 ranks are bound (role leader: 0 of 1), the "
                        "other ranks cannot be bound: 1 GPU requested"),
              0U)
        << wording::sentence(explanation);
}

TEST(GangRoles, a_succeeded_role_counts_after_its_pod_is_gone_with_a_second_controller) {
    EngineWorld world;
    world.add(node("a", 2));
    auto ranks = ranks_of("g", {"leader", "worker"}, 2, {{"leader", 1}, {"worker", 1}});
    ranks[0].controller_uid = "job-of-the-leader";
    ranks[1].controller_uid = "job-of-the-workers";
    world.add(ranks);
    world.run();
    for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].node = "a";
    ranks[0].phase = PodPhase::succeeded;
    world.add(ranks[0]);
    world.remove_pod("g-0");  // a user deleted it
    world.remove_pod("g-1");
    ranks[1].uid = ranks[1].key.name = "g-1-again";
    ranks[1].node.clear();
    world.add(ranks[1]);
    world.run();
    EXPECT_EQ(world.node_of("g-1-again"), "a");
}

TEST(GangRoles, a_gang_preempts_for_its_minimum_including_missing_roles) {
    EngineWorld world;
    world.add(node("a", 2));
    std::vector<PodFacts> low;
    for (const char* uid : {"x", "y"}) {
        PodFacts one = pod(uid, uid, 1);
        one.priority = -1;
        one.preemptible = true;
        low.push_back(one);
    }
    world.add(low);
    world.run();
    auto ranks = ranks_of("g", {"worker", "worker", "leader"}, 2, {{"leader", 1}});
    for (PodFacts& rank : ranks) rank.priority = 5;
    world.add(ranks);
    world.plan();
    ASSERT_EQ(world.evictions.size(), 2U);
    for (const char* uid : {"x", "y"}) {
        world.answer_eviction(uid);
        world.remove_pod(uid);
    }
    world.run();
    EXPECT_EQ(world.node_of("g-2"), "a") << "the leader";
    EXPECT_EQ(world.node_of("g-0"), "a");
    EXPECT_EQ(world.node_of("g-1"), "");
}

// Both request one rank of 4 GPUs and two of 1; room for one gang need not suffice for the other.
TEST(GangRoles, gangs_with_equal_ranks_in_another_order_are_of_different_classes) {
    EngineWorld world;
    world.add(node("a", 2));
    std::vector<PodFacts> big = gang("big", 3, 1);
    big[0].request = room(4, 1, 1, 1);
    std::vector<PodFacts> small = gang("small", 3, 1);
    small[2].request = room(4, 1, 1, 1);
    for (auto* ranks : {&big, &small}) {
        for (PodFacts& rank : *ranks) rank.gang_min = 2;
    }
    world.add(big);
    world.run();
    EXPECT_TRUE(world.pending.empty());
    world.add(small);
    world.run();
    EXPECT_EQ(world.node_of("small-0"), "a");
    EXPECT_EQ(world.node_of("small-1"), "a");
    EXPECT_EQ(world.node_of("big-0"), "");
}

}  // namespace
}  // namespace gpuctl::test
