// Labels and cordons that users set in the virtual cluster.

#include <variant>

#include "unit/sim/sim_world.hpp"

namespace gpuctl::sim {
namespace {

constexpr const char* kPoolLabel = "runwhere.ai/pool";

ChangeNode change_of(const std::string& node) {
    ChangeNode effect{EffectId{77}, Epoch{1}, "r1", {}};
    effect.change.node = node;
    return effect;
}

// The positions of the last report of the node and of the outcome among the events.
struct Answers {
    const NodeFacts* node = nullptr;
    const NodeChangeOutcome* outcome = nullptr;
    bool is_reported_first = false;
};

Answers answers_in(const std::vector<Event>& events) {
    Answers out;
    for (const Event& event : events) {
        if (const auto* seen = std::get_if<NodeObserved>(&event)) out.node = &seen->node;
        if (const auto* answer = std::get_if<NodeChangeOutcome>(&event)) {
            out.outcome = answer;
            out.is_reported_first = out.node != nullptr;
        }
    }
    return out;
}

Answers carry_out(SimWorld& world, const ChangeNode& effect) {
    world.events.clear();
    world.cluster.carry_out(effect, world.now, world.events);
    world.run_for(Duration{50});
    return answers_in(world.events);
}

TEST(NodeChanges, a_changed_node_is_reported_before_the_outcome) {
    SimWorld world;
    ChangeNode effect = change_of("node-0");
    effect.change.set = {{kPoolLabel, "training"}, {"company.com/team", "a"}};
    effect.change.cordon = NodeCordon::cordon;
    const Answers answers = carry_out(world, effect);
    ASSERT_NE(answers.outcome, nullptr);
    EXPECT_EQ(answers.outcome->result, NodeChangeResult::changed);
    EXPECT_EQ(answers.outcome->request, "r1");
    EXPECT_TRUE(answers.is_reported_first) << "a read after the answer must be fresh";
    EXPECT_EQ(answers.node->pool, "training") << "the label is the pool";
    EXPECT_EQ(answers.node->labels.at("company.com/team"), "a");
    EXPECT_TRUE(answers.node->unschedulable);
    EXPECT_EQ(answers.node->taints.size(), 1u);
}

TEST(NodeChanges, what_is_so_already_is_answered_and_not_reported) {
    SimWorld world;
    ChangeNode effect = change_of("node-0");
    effect.change.remove = {kPoolLabel};
    const Answers answers = carry_out(world, effect);
    ASSERT_NE(answers.outcome, nullptr);
    EXPECT_EQ(answers.outcome->result, NodeChangeResult::changed);
    EXPECT_EQ(answers.node, nullptr);
}

TEST(NodeChanges, a_change_whose_conditions_do_not_hold_changes_nothing) {
    SimWorld world;
    ChangeNode first = change_of("node-0");
    first.change.set = {{"team", "a"}};
    (void)carry_out(world, first);
    ChangeNode second = change_of("node-0");
    second.change.set = {{"team", "b"}};
    EXPECT_EQ(carry_out(world, second).outcome->code, ErrorCode::LabelConflict);
    EXPECT_EQ(world.cluster.find_node("node-0")->labels.at("team"), "a");
    ChangeNode nowhere = change_of("nowhere");
    EXPECT_EQ(carry_out(world, nowhere).outcome->code, ErrorCode::NodeNotFound);
    EXPECT_EQ(carry_out(world, nowhere).outcome->result, NodeChangeResult::refused);
}

TEST(NodeChanges, a_restart_keeps_changed_labels_over_those_of_the_configuration) {
    NodeFacts configured = make_node("node-0", 8);
    configured.labels = {{"zone", "z1"}, {"tier", "gold"}, {kPoolLabel, "first"}};
    configured.pool = "first";
    SimWorld world{{}, 0};
    world.cluster.apply(NodeJoins{configured}, world.now, world.events);
    ChangeNode effect = change_of("node-0");
    effect.change.set = {{kPoolLabel, "second"}};
    effect.change.overwrite = true;
    effect.change.remove = {"tier"};
    effect.change.cordon = NodeCordon::cordon;
    (void)carry_out(world, effect);
    World known;
    known.nodes = {*world.cluster.find_node("node-0")};

    configured.labels["zone"] = "z2";  // an operator edits the configuration meanwhile
    Cluster again{Settings{}};
    again.restore(known, {configured}, world.now);
    const NodeFacts& node = *again.find_node("node-0");
    EXPECT_EQ(node.pool, "second");
    EXPECT_EQ(node.labels.at(kPoolLabel), "second");
    EXPECT_FALSE(node.labels.contains("tier")) << "removed by a user";
    EXPECT_EQ(node.labels.at("zone"), "z2") << "not changed by a user";
    EXPECT_TRUE(node.unschedulable);
}

}  // namespace
}  // namespace gpuctl::sim
