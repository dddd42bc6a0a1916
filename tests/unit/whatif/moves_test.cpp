// Remedies that move other jobs: which are reported, and which are not although the columns would
// allow them.

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/whatif/remedies.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {
namespace {

using test::EngineWorld;
using test::node;
using test::pod;

// Two nodes of four GPUs, or as many as requested.
class FourEach {
public:
    explicit FourEach(Policy policy = {}) {
        policy.pods_reserved_per_node = 0;
        world.set(std::move(policy));
        world.add(node("a", 4));
        world.add(node("b", 4));
    }
    explicit FourEach(int nodes) {
        for (int i = 0; i < nodes; ++i) world.add(node("n" + std::to_string(i), 4));
    }
    void run_on(const std::string& on, PodFacts facts) {
        facts.node = on;
        facts.phase = PodPhase::running;
        facts.started_at = world.now;
        world.add(facts);
    }
    static PodFacts work(const std::string& name, std::int64_t gpus, bool may_move = false) {
        PodFacts facts = pod(name, name, gpus);
        facts.preempts = false;
        facts.preemptible = may_move;
        return facts;
    }
    [[nodiscard]] std::optional<Remedy> move_for(const std::string& name) const {
        const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
        EXPECT_TRUE(found.has_value());
        if (!found) return std::nullopt;
        const auto move =
            std::find_if(found->found.begin(), found->found.end(),
                         [](const Remedy& one) { return one.kind == ChangeKind::jobs_move; });
        return move == found->found.end() ? std::nullopt : std::optional{*move};
    }

    EngineWorld world;
};

TEST(Moves, are_proposed_with_their_nodes_and_their_cost_at_present) {
    FourEach halves;
    halves.run_on("a", FourEach::work("stays", 2));
    halves.run_on("b", FourEach::work("goes", 2, true));
    halves.world.add(FourEach::work("wide", 4));
    halves.world.run();
    // No further event occurs, but the job continues.
    halves.world.now = halves.world.now + Duration::seconds(601);
    const std::optional<Remedy> move = halves.move_for("wide");
    ASSERT_TRUE(move.has_value());
    EXPECT_EQ(wording::sentence(move->facts),
              "it would start now if 1 job moved: team-a/goes (2 GPUs) from b to a; 21 GPU-minutes "
              "of work would be repeated; gpuctl moves no job by itself");
    ASSERT_EQ(move->moves.size(), 1u);
    const MovedPod expected{"goes", "b", "a"};
    EXPECT_EQ(move->moves.front().pods, std::vector<MovedPod>{expected});
    EXPECT_FALSE(move->moves.front().is_submitted);
}

TEST(Moves, are_not_proposed_when_another_job_would_take_the_room_of_the_moved_job) {
    for (const bool is_contested : {false, true}) {
        Policy policy;
        PoolPolicy pool;
        pool.name = "default";
        pool.queues = {{"default", 0, 1, {}, {}}, {"narrow", 0, 1, {}, whole_gpus(2)}};
        policy.pools = {pool};
        FourEach halves{policy};
        PodFacts goes = FourEach::work("goes", 2, true);
        PodFacts next = FourEach::work("next", 2);
        goes.queue = next.queue = "narrow";
        halves.run_on("a", FourEach::work("stays", 2));
        halves.run_on("b", goes);
        halves.world.add(FourEach::work("wide", 4));
        if (is_contested) halves.world.add(next);  // the maximum of its queue blocks it
        halves.world.run();
        EXPECT_EQ(halves.move_for("wide").has_value(), !is_contested);
    }
}

TEST(Moves, of_a_job_that_returns_preempt_no_other_job) {
    FourEach halves;
    for (const char* name : {"a", "b"}) {
        NodeFacts facts = node(name, 4);
        facts.topology.rack = name;
        halves.world.add(facts);
    }
    // Two ranks in one rack, of a priority that would preempt `small` on a.
    for (PodFacts rank : test::gang("goes", 2, 1)) {
        rank.preemptible = true;
        rank.priority = 100;
        rank.rules.topology.required = TopologyLevel::rack;
        halves.run_on("b", rank);
    }
    halves.run_on("a", FourEach::work("stays", 2));
    halves.run_on("a", FourEach::work("small", 1, true));
    halves.world.add(FourEach::work("wide", 3));
    halves.world.run();
    const std::optional<Remedy> move = halves.move_for("wide");
    ASSERT_TRUE(move.has_value());
    ASSERT_EQ(move->moves.size(), 2u) << wording::sentence(move->facts);
    EXPECT_EQ(move->moves[0].key.name, "goes");
    EXPECT_EQ(move->moves[1].key.name, "small");
}

// A later job uses what the first moved job releases, before the second one has stopped.
TEST(Moves, are_not_proposed_when_they_help_only_if_all_jobs_stop_at_once) {
    for (const bool is_contested : {false, true}) {
        FourEach halves{4};
        halves.run_on("n0", FourEach::work("first", 2, true));
        halves.run_on("n1", FourEach::work("second", 2, true));
        halves.run_on("n2", FourEach::work("stays-2", 2));
        halves.run_on("n3", FourEach::work("stays-3", 2));
        std::vector<PodFacts> wide = test::gang("wide", 2, 4);
        for (PodFacts& rank : wide) rank.preempts = false;
        halves.world.add(wide);
        halves.world.run();
        if (is_contested) halves.world.add(FourEach::work("narrow", 4));
        halves.world.run();
        EXPECT_EQ(halves.move_for("wide").has_value(), !is_contested);
    }
}

TEST(Moves, say_whether_a_job_was_submitted_here_and_change_no_state) {
    FourEach halves;
    JobRecord record;
    record.uid = "uid-of-goes";
    record.spec.key = {"team-a", "goes"};
    record.spec.replicas_min = record.spec.replicas_max = 1;
    record.spec.gpu.amount = whole_gpus(2);
    record.spec.gpu.resource = test::kGpu;
    halves.run_on("a", FourEach::work("stays", 2));
    halves.world.send(JobSubmitted{record});
    halves.world.plan();
    const std::vector<CreateWorkload> made = halves.world.sent<CreateWorkload>();
    ASSERT_EQ(made.size(), 1u);
    halves.world.send(WorkloadOutcome{made.front().id, record.spec.key, true, false, "", {}});
    halves.run_on("b", FourEach::work("goes", 2, true));
    halves.world.add(FourEach::work("wide", 4));
    halves.world.run();
    const std::uint64_t before = halves.world.engine.state_hash();
    const std::optional<Remedy> move = halves.move_for("wide");
    ASSERT_TRUE(move.has_value());
    EXPECT_TRUE(move->moves.front().is_submitted);
    EXPECT_EQ(halves.world.engine.state_hash(), before);
}

TEST(Moves, are_found_among_many_jobs_on_the_node_that_lacks_least) {
    FourEach many{40};
    for (int i = 0; i < 39; ++i) {
        const std::string number = std::to_string(i);
        many.run_on("n" + number, FourEach::work("goes-" + number, 2, true));
        many.run_on("n" + number, FourEach::work("stays-" + number, 1));
    }
    PodFacts light = FourEach::work("light", 1, true);
    light.restart_cost = Duration::seconds(3'600);  // the most expensive of all
    many.run_on("n39", light);
    many.world.add(FourEach::work("wide", 4));
    many.world.run();
    const std::optional<Remedy> move = many.move_for("wide");
    ASSERT_TRUE(move.has_value());
    ASSERT_EQ(move->moves.size(), 1u);
    EXPECT_EQ(move->moves.front().key.name, "light");
}

TEST(Moves, of_too_many_jobs_to_try_all_sets_are_combined_node_by_node) {
    FourEach many{20};
    for (int i = 0; i < 20; ++i) {
        const std::string name = "light-" + std::to_string(i);
        many.run_on("n" + std::to_string(i), FourEach::work(name, 1, true));
    }
    many.world.add(test::gang("wide", 8, 4));
    many.world.run();
    const std::optional<Remedy> move = many.move_for("wide");
    ASSERT_TRUE(move.has_value());
    EXPECT_EQ(move->moves.size(), 8u);
}

}  // namespace
}  // namespace gpuctl::whatif
