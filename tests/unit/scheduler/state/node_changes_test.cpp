// Changes of nodes by users: one at a time, answered by the cluster.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

NodeChangeRequested request(const std::string& name, const std::string& value,
                            const std::string& node = "a") {
    NodeChangeRequested out{name, {}};
    out.change.node = node;
    out.change.set["team"] = value;
    return out;
}

std::vector<ChangeNode> sent_by(const EngineWorld& world) {
    std::vector<ChangeNode> out;
    for (const Effect& effect : world.last) {
        if (const auto* change = std::get_if<ChangeNode>(&effect)) out.push_back(*change);
    }
    return out;
}

void answer(EngineWorld& world, const ChangeNode& effect, NodeChangeResult result) {
    world.send(NodeChangeOutcome{effect.id, effect.request, effect.change.node, result, {}, ""});
}

std::size_t open_in(const EngineWorld& world) {
    return world.engine.state().node_changes.open().size();
}

ErrorCode refusal(const EngineWorld& world, const NodeChangeRequested& of) {
    const Result<bool> agreed = world.engine.state().node_changes.check(of);
    return agreed ? ErrorCode::Internal : agreed.error().code;
}

TEST(NodeChanges, the_second_change_of_a_node_is_sent_after_the_outcome_of_the_first) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.send(request("r1", "x"));
    const ChangeNode first = sent_by(world).at(0);
    EXPECT_EQ(first.request, "r1");
    EXPECT_EQ(first.epoch, Epoch{1});
    world.send(request("r2", "y"));
    EXPECT_TRUE(sent_by(world).empty()) << "one change of a node at a time";
    world.send(request("r3", "y", "b"));
    EXPECT_EQ(sent_by(world).size(), 1u) << "another node does not wait";
    answer(world, first, NodeChangeResult::failed);
    ASSERT_EQ(sent_by(world).size(), 1u) << "whatever the outcome";
    EXPECT_EQ(sent_by(world)[0].request, "r2");
    answer(world, first, NodeChangeResult::changed);
    EXPECT_EQ(open_in(world), 2u) << "an outcome counts once";
}

TEST(NodeChanges, a_node_that_is_so_already_is_not_written) {
    EngineWorld world;
    NodeFacts facts = node("a", 8);
    facts.labels["team"] = "x";
    world.add(facts);
    world.send(request("r1", "x"));
    EXPECT_TRUE(sent_by(world).empty());
    EXPECT_EQ(open_in(world), 0u);
    EXPECT_FALSE(*world.engine.state().node_changes.check(request("r2", "x")));
    NodeChangeRequested cordon{"r3", {}};
    cordon.change.node = "a";
    cordon.change.cordon = NodeCordon::cordon;
    world.send(cordon);
    EXPECT_EQ(sent_by(world).size(), 1u);
}

TEST(NodeChanges, what_cannot_be_is_refused_and_not_sent) {
    EngineWorld world;
    NodeFacts facts = node("a", 8);
    facts.labels["team"] = "x";
    facts.uid = "uid-1";
    world.add(facts);
    EXPECT_EQ(refusal(world, request("r1", "y")), ErrorCode::LabelConflict);
    world.send(request("r1", "y"));
    EXPECT_TRUE(sent_by(world).empty());
    NodeChangeRequested overwrite = request("r2", "y");
    overwrite.change.overwrite = true;
    overwrite.change.uid = "uid-0";
    EXPECT_EQ(refusal(world, overwrite), ErrorCode::Conflict) << "another node of that name";
    overwrite.change.uid = "uid-1";
    overwrite.change.expected["team"] = "z";
    EXPECT_EQ(refusal(world, overwrite), ErrorCode::Conflict) << "not the expected label";
    overwrite.change.expected["team"] = "x";
    EXPECT_TRUE(*world.engine.state().node_changes.check(overwrite));
    EXPECT_EQ(refusal(world, request("r3", "y", "nowhere")), ErrorCode::NodeNotFound);
    world.send(LeadershipChanged{false, Epoch{1}});
    EXPECT_EQ(refusal(world, overwrite), ErrorCode::NotLeader);
}

TEST(NodeChanges, more_than_the_maximum_are_refused) {
    EngineWorld world;
    world.verify_steps = false;
    world.add(node("a", 8));
    for (std::size_t i = 0; i < kNodeChangesMaximum; ++i) {
        NodeChangeRequested one = request("r" + std::to_string(i), "x" + std::to_string(i));
        one.change.overwrite = true;
        world.send(one);
    }
    EXPECT_EQ(open_in(world), kNodeChangesMaximum);
    EXPECT_EQ(refusal(world, request("last", "z")), ErrorCode::TooManyRequests);
}

TEST(NodeChanges, a_new_term_sends_open_changes_again_and_drops_old_ones) {
    EngineWorld world;
    world.add(node("a", 8));
    world.send(request("r1", "x"));
    const ChangeNode first = sent_by(world).at(0);
    world.send(request("r2", "y"));
    world.send(LeadershipChanged{true, Epoch{2}});
    ASSERT_EQ(sent_by(world).size(), 1u);
    EXPECT_EQ(sent_by(world)[0].request, "r1");
    EXPECT_EQ(sent_by(world)[0].epoch, Epoch{2});
    EXPECT_NE(sent_by(world)[0].id, first.id);
    answer(world, first, NodeChangeResult::changed);
    EXPECT_EQ(open_in(world), 2u) << "an answer of the former term";
    world.now = world.now + Duration::seconds(600);
    world.send(LeadershipChanged{true, Epoch{3}});
    EXPECT_TRUE(sent_by(world).empty()) << "their users have stopped waiting";
    EXPECT_EQ(open_in(world), 0u);
}

TEST(NodeChanges, open_changes_survive_export_and_import) {
    EngineWorld world;
    world.add(node("a", 8));
    world.send(request("r1", "x"));
    world.send(request("r2", "y"));
    auto revived = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(revived.has_value());
    EXPECT_EQ(revived->state_hash(), world.engine.state_hash());
    EXPECT_EQ(revived->state().node_changes.open(), world.engine.state().node_changes.open());
}

TEST(Drain, pods_of_a_node_that_a_user_drains_are_evicted_and_move) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.run();
    ASSERT_EQ(world.node_of("p"), "a");
    NodeFacts drained = node("a", 8);
    drained.draining = true;
    drained.unschedulable = true;
    world.add(drained);
    world.plan();
    ASSERT_EQ(world.evictions.size(), 1u);
    const CauseBox& why = world.evictions.at("p").why;
    ASSERT_TRUE(why);
    EXPECT_EQ(std::get<cause::NodeDrained>(*why).node, "a");
}

TEST(Drain, a_bare_pod_stays_on_a_drained_node) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts bare = pod("p", "p", 8);
    bare.has_controller = false;
    world.add(bare);
    world.run();
    NodeFacts drained = node("a", 8);
    drained.draining = true;
    world.add(drained);
    world.plan();
    EXPECT_TRUE(world.evictions.empty());
}

}  // namespace
}  // namespace gpuctl::test
