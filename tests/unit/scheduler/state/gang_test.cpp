// Gangs start completely or not at all, also when binds fail, are late or are lost.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

TEST(Gang, all_ranks_or_none) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 7));
    world.add(gang("g", 2, 8));
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    world.add(node("c", 8));
    world.plan();
    EXPECT_EQ(world.pending.size(), 2U);
    world.answer_all();
    world.plan();
    ASSERT_EQ(world.sent<ReportStarted>().size(), 1U);
    EXPECT_EQ(world.sent<ReportStarted>().front().pods.size(), 2U);
}

TEST(Gang, waits_for_its_ranks_and_for_its_size) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 2, 1);
    for (PodFacts& rank : ranks) rank.gang_min = 0;
    world.add(ranks[0]);
    world.plan();
    EXPECT_EQ(world.why("g").front().reason, Reason::gang_size_unknown);
    world.send(GangObserved{{"team-a", "g"}, {2, {}}});
    world.plan();
    EXPECT_EQ(world.why("g").front().reason, Reason::gang_incomplete);
    EXPECT_TRUE(world.pending.empty());
    world.add(ranks[1]);
    world.plan();
    EXPECT_EQ(world.pending.size(), 2U);
}

TEST(Gang, a_single_pod_of_the_same_name_is_no_rank_of_the_gang) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("x", 3, 1);
    world.add(ranks[0]);
    world.add(ranks[1]);
    PodFacts single = pod("x", "", 1);
    world.add(single);
    world.run();
    EXPECT_EQ(world.node_of("x"), "a");
    EXPECT_EQ(world.node_of("x-0"), "");
    EXPECT_EQ(world.why("x").front().reason, Reason::gang_incomplete);
    const ClusterState& state = world.engine.state();
    const Result<JobView> either = find_job(state, "team-a", "x");
    ASSERT_FALSE(either.has_value()) << "x is ambiguous";
    EXPECT_EQ(either.error().code, ErrorCode::JobAmbiguous);
    ASSERT_EQ(either.error().details.size(), 2U);
    EXPECT_EQ(either.error().details[0].message, "team-a/pod:x");
    EXPECT_EQ(either.error().details[1].message, "team-a/gpuctl:x");
    EXPECT_EQ(find_job(state, "team-a", "gpuctl:x")->pods.size(), 2U);
    const Result<JobView> own = find_job(state, "team-a", "pod:x");
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(own->status, "Pending");
    EXPECT_EQ(shown_name(own->key), "x");
}

TEST(Gang, a_single_pod_is_found_by_its_name) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("hello", "", 1));
    world.run();
    const Result<JobView> job = find_job(world.engine.state(), "team-a", "hello");
    ASSERT_TRUE(job.has_value());
    EXPECT_EQ(to_string(job->key), "team-a/hello");
}

TEST(Gang, the_number_of_ranks_is_reported_to_all_of_them_when_one_is_added) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 3, 1);
    world.add(ranks[0]);
    world.plan();
    ASSERT_EQ(world.sent<ReportPending>().size(), 1U);
    world.add(ranks[1]);
    world.plan();
    ASSERT_EQ(world.sent<ReportPending>().size(), 2U);
    const ReportPending news = world.sent<ReportPending>().back();
    ASSERT_EQ(news.pods.size(), 2U) << "the first report is outdated";
    EXPECT_NE(wording::sentence(news.explanation).find("2 of "), std::string::npos);
    world.plan();
    EXPECT_EQ(world.sent<ReportPending>().size(), 2U);
}

TEST(Gang, ranks_that_name_different_pools_are_held_and_the_reason_says_so) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8, "other"));
    std::vector<PodFacts> ranks = gang("g", 2, 1);
    ranks[1].pool = "other";
    world.add(ranks);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_EQ(wording::sentence(world.why("g").front()),
              "it uses ranks of one gang in different pools or queues (default/default, "
              "other/default), which is not supported");
}

TEST(Gang, the_reason_quotes_an_unreadable_size) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 1, 1);
    ranks[0].gang_min = 0;
    ranks[0].gang_min_problem = "the annotation size on its pods is \"four\"";
    world.add(ranks[0]);
    world.plan();
    EXPECT_EQ(wording::sentence(world.why("g").front()),
              "the size of its gang is unknown: there is no PodGroup g with a size of at least 1, "
              "and the annotation size on its pods is \"four\"");
    ranks[0].gang_min_problem = "the annotation size on its pods is missing";
    world.add(ranks[0]);
    world.plan();
    EXPECT_NE(wording::sentence(world.why("g").front()).find("is missing"), std::string::npos);
    // The name of a gang that a controller made from labels is not the name of a PodGroup.
    const std::string made = std::string{kMadeGangPrefix} + "TrainingJob.lab:nomin";
    PodFacts rank = gang(made, 1, 1).front();
    rank.gang_min = 0;
    rank.gang_min_problem = ranks[0].gang_min_problem;
    world.add(rank);
    world.plan();
    EXPECT_EQ(wording::sentence(world.why(made).front()),
              "the size of its gang is unknown: the annotation size on its pods is missing");
    world.send(GangObserved{{"team-a", "g"}, {}});
    world.plan();
    EXPECT_EQ(wording::sentence(world.why("g").front()),
              "the size of its gang is unknown: its PodGroup has no size of at least 1");
}

TEST(Gang, the_reason_names_contradicting_sizes) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 2, 1);
    ranks[0].gang_min = 3;
    world.add(ranks);
    world.plan();
    EXPECT_EQ(
        wording::sentence(world.why("g").front()),
        "its gang has 2 of 3 ranks; its pods state different sizes (2, 3), the largest one counts");
    world.send(GangObserved{{"team-a", "g"}, {3, {}}});
    world.plan();
    EXPECT_EQ(wording::sentence(world.why("g").front()), "its gang has 2 of 3 ranks");
}

TEST(Gang, half_bound_with_controllers_is_rolled_back) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(gang("g", 2, 8));
    world.plan();
    world.answer("g-0");
    world.show("g-0");
    world.answer("g-1", BindResult::refused);
    world.plan();
    ASSERT_EQ(world.sent<DeletePod>().size(), 1U);
    EXPECT_EQ(world.sent<DeletePod>().front().pod.uid, "g-0");
    EXPECT_EQ(world.node_of("g-0") == "", false) << "it holds its room until it is gone";
}

// Regression: the gang was remembered as complete, and half of it kept its capacity.
TEST(Gang, a_gang_that_was_evicted_as_a_whole_starts_again_like_any_other) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(gang("g", 2, 8));
    world.run();
    for (PodFacts rank : gang("g", 2, 8)) {
        world.remove_pod(rank.uid);
        rank.uid += "-again";
        world.add(rank);  // before the next pod is removed: the job exists all the time
    }
    world.plan();
    world.answer("g-0-again");
    world.show("g-0-again");
    world.answer("g-1-again", BindResult::refused);
    world.plan();
    ASSERT_EQ(world.sent<DeletePod>().size(), 1U);
    EXPECT_EQ(world.sent<DeletePod>().front().pod.uid, "g-0-again");
}

// Regression: its round began from its nomination, before the rest of the gang was examined.
TEST(Gang, a_gang_placed_by_a_nomination_after_its_last_rank_ended_starts_like_any_other) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(node("b", 2));
    std::vector<PodFacts> ranks = gang("g", 3, 1);
    for (PodFacts& rank : ranks) rank.priority = 20;
    world.add(ranks);
    world.run();
    PodFacts* stays = &ranks[0];
    for (PodFacts& rank : ranks) {
        if (world.node_of(rank.uid) == "a") stays = &rank;
    }
    PodFacts low = pod("low", "low", 2);
    low.preemptible = true;
    world.add(low);
    std::vector<std::string> again;
    for (PodFacts& rank : ranks) {
        if (&rank == stays) continue;
        world.remove_pod(rank.uid);
        rank.uid += "-again";
        again.push_back(rank.uid);
    }
    world.run();
    ASSERT_EQ(world.node_of("low"), "b");
    for (const PodFacts& rank : ranks) {
        if (&rank != stays) world.add(rank);
    }
    world.plan();
    ASSERT_TRUE(world.evictions.contains("low")) << "its room is nominated for the two ranks";
    PodFacts ended = world.pods.at(stays->uid);
    ended.phase = PodPhase::succeeded;
    world.add(ended);
    world.remove_pod("low");
    world.plan();
    world.answer(again[0]);
    world.show(again[0]);
    world.answer(again[1], BindResult::refused);
    world.plan();
    ASSERT_EQ(world.sent<DeletePod>().size(), 1U);
    EXPECT_EQ(world.sent<DeletePod>().front().pod.uid, again[0]);
}

TEST(Gang, a_gang_whose_binds_were_refused_is_retried_as_a_whole) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(gang("g", 2, 8));
    world.plan();
    world.answer("g-0", BindResult::refused);
    world.plan();
    world.now = world.now + Duration{700};
    world.answer("g-1", BindResult::refused);
    world.plan();
    EXPECT_EQ(world.node_of("g-0"), "") << "a gang holds no room while a permission is missing";
    EXPECT_EQ(world.node_of("g-1"), "");
    world.now = world.now + (world.policy.backoff_maximum - Duration{1});
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.pending.empty()) << "the first alone is no gang";
    world.now = world.now + Duration{1};
    world.send(WokeUp{});
    world.plan();
    EXPECT_EQ(world.pending.size(), 2U);
}

TEST(Gang, half_bound_bare_pods_are_held_reported_and_resumed_first) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    std::vector<PodFacts> ranks = gang("g", 2, 8);
    for (PodFacts& rank : ranks) rank.has_controller = false;
    world.add(ranks);
    world.plan();
    const std::string free_again = world.node_of("g-1");
    world.answer("g-0");
    world.show("g-0");
    world.answer("g-1", BindResult::gone);
    world.remove_pod("g-1");
    PodFacts thief = pod("thief", "thief", 8);
    thief.priority = 1000;
    world.add(thief);
    PodFacts again = ranks[1];
    again.uid = again.key.name = "g-1b";
    world.add(again);
    world.plan();
    EXPECT_TRUE(world.sent<DeletePod>().empty());
    EXPECT_EQ(world.node_of("g-1b"), free_again) << "before all new jobs, whatever their priority";
    EXPECT_EQ(world.node_of("thief"), "");
}

TEST(Gang, keeps_its_reservations_while_members_are_retried_until_the_deadline) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(gang("g", 2, 8));
    world.plan();
    world.answer("g-0", BindResult::failed);
    world.answer("g-1", BindResult::failed);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_NE(world.node_of("g-0"), "");
    world.now = world.now + Duration{1'000};
    world.send(WokeUp{});
    world.plan();
    EXPECT_EQ(world.pending.size(), 2U) << "sent again, on the same nodes";
    world.answer("g-0", BindResult::failed);
    world.answer("g-1", BindResult::failed);
    world.now = world.now + Duration::seconds(31);
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.sent<DeletePod>().empty());
    EXPECT_EQ(world.node_of("g-0"), "") << "the whole gang is released and tried again later";
}

void succeed_and_remove(EngineWorld& world, const std::string& uid) {
    PodFacts pod = world.pods.at(uid);
    pod.phase = PodPhase::succeeded;
    world.add(pod);
    world.remove_pod(uid);
}

// A node was drained after a rank had succeeded on it: its Job does not create that rank again.
TEST(Gang, a_rank_that_succeeded_counts_after_its_pod_is_gone) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 2, 4);
    for (PodFacts& rank : ranks) rank.controller_uid = "job-1";
    world.add(ranks);
    world.plan();
    world.answer_all();
    world.plan();
    succeed_and_remove(world, ranks[0].uid);
    world.remove_pod(ranks[1].uid);
    PodFacts again = ranks[1];
    again.uid = "again";
    world.add(again);
    world.plan();
    EXPECT_EQ(world.pending.size(), 1U);
}

TEST(Gang, succeeded_ranks_do_not_count_for_another_controller_of_the_same_name) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("g", 3, 1);
    for (PodFacts& rank : ranks) rank.controller_uid = "job-1";
    world.add(ranks);
    world.plan();
    world.answer_all();
    world.plan();
    succeed_and_remove(world, ranks[0].uid);
    succeed_and_remove(world, ranks[1].uid);
    PodFacts other = ranks[2];  // the last pod of the old Job still exists
    other.uid = "other";
    other.key.name += "-other";
    other.controller_uid = "job-2";
    world.add(other);
    world.remove_pod(ranks[2].uid);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_EQ(world.why("g").front().reason, Reason::gang_incomplete);
}

}  // namespace
}  // namespace gpuctl::test
