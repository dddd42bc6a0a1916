// When a request to change a node is answered.

#include "unit/daemon/engine_world.hpp"

namespace gpuctl::core {
namespace {

using Answer = std::shared_ptr<std::optional<Result<void>>>;

aio::Task<void> change(World& world, std::string value, Answer answer) {
    NodeChange wanted;
    wanted.node = "node-0";
    wanted.set["team"] = std::move(value);
    const aio::Deadline deadline = aio::Deadline::in(world.submit_deadline);
    Result<void> result = co_await world.engine.change_node(std::move(wanted), deadline);
    *answer = result;
}

Answer start_change(World& world, const std::string& value) {
    auto answer = std::make_shared<std::optional<Result<void>>>();
    world.tasks.spawn("change", change(world, value, answer));
    return answer;
}

const ChangeNode* sent_change(const World& world) {
    for (const Effect& effect : world.cluster.effects) {
        if (const auto* found = std::get_if<ChangeNode>(&effect)) return found;
    }
    return nullptr;
}

NodeChangeOutcome outcome_of(const ChangeNode& effect, NodeChangeResult result) {
    return {effect.id, effect.request,       effect.change.node,
            result,    ErrorCode::Forbidden, "no right"};
}

aio::Task<void> wait_for_disk_and_cluster(World& world) {
    const Answer answer = start_change(world, "a");
    const bool sent = co_await world.until([&] { return sent_change(world) != nullptr; });
    EXPECT_TRUE(sent);
    if (!sent) co_return;
    // An outcome of a job's write with the same effect id answers nothing.
    EXPECT_TRUE(world.engine.offer(
        WorkloadOutcome{sent_change(world)->id, {"", "node-0"}, true, false, "", {}}));
    NodeChangeOutcome foreign = outcome_of(*sent_change(world), NodeChangeResult::changed);
    foreign.request = "of another process";
    foreign.effect = EffectId{999};
    EXPECT_TRUE(world.engine.offer(foreign));
    world.journal.finish_syncs(Result<void>{});
    const bool taken = co_await world.until([&] { return world.engine.mailbox_size() == 0; });
    EXPECT_TRUE(taken);
    EXPECT_FALSE(answer->has_value()) << "the cluster has not answered";
    NodeFacts changed = World::node();
    changed.labels["team"] = "a";
    EXPECT_TRUE(world.engine.offer(NodeObserved{changed}));
    EXPECT_TRUE(world.engine.offer(outcome_of(*sent_change(world), NodeChangeResult::changed)));
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_TRUE(answer->value().has_value());
    const ClusterState& state = world.engine.state();
    EXPECT_EQ(state.node(state.nodes.find_node("node-0")).facts.labels.at("team"), "a")
        << "a read after the answer is fresh";
}

TEST(NodeRequests, a_change_is_answered_when_it_is_on_disk_and_the_cluster_has_carried_it_out) {
    World{}.run(wait_for_disk_and_cluster);
}

aio::Task<void> be_refused(World& world) {
    const Answer answer = start_change(world, "a");
    const bool sent = co_await world.until([&] { return sent_change(world) != nullptr; });
    EXPECT_TRUE(sent);
    if (!sent) co_return;
    EXPECT_TRUE(world.engine.offer(outcome_of(*sent_change(world), NodeChangeResult::refused)));
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_EQ(answer->value().error().code, ErrorCode::Forbidden);
    EXPECT_EQ(answer->value().error().message, "no right");
}

TEST(NodeRequests, what_the_cluster_refuses_is_answered_with_its_reason) {
    World{}.run(be_refused);
}

aio::Task<void> change_nothing(World& world) {
    NodeFacts labelled = World::node();
    labelled.labels["team"] = "a";
    EXPECT_TRUE(world.engine.offer(NodeObserved{labelled}));
    const Answer same = start_change(world, "a");
    const bool synced = co_await world.until([&] { return !world.journal.waiting.empty(); });
    EXPECT_TRUE(synced);
    world.journal.finish_syncs(Result<void>{});
    const bool answered = co_await world.until([&] { return same->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_TRUE(same->value().has_value());
    EXPECT_EQ(sent_change(world), nullptr) << "no write";
    const Answer other = start_change(world, "b");
    const bool refused = co_await world.until([&] { return other->has_value(); });
    EXPECT_TRUE(refused);
    if (!refused) co_return;
    EXPECT_EQ(other->value().error().code, ErrorCode::LabelConflict);
    EXPECT_EQ(sent_change(world), nullptr);
}

TEST(NodeRequests, what_is_so_already_or_conflicts_is_answered_without_a_write) {
    World{}.run(change_nothing);
}

aio::Task<void> wait_in_vain(World& world) {
    world.submit_deadline = std::chrono::milliseconds{30};
    const Answer answer = start_change(world, "a");
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_EQ(answer->value().error().code, ErrorCode::UnknownOutcome);
    EXPECT_NE(answer->value().error().message.find("describe node node-0"), std::string::npos);
}

TEST(NodeRequests, a_change_without_an_answer_in_time_says_what_to_check) {
    World{}.run(wait_in_vain);
}

}  // namespace
}  // namespace gpuctl::core
