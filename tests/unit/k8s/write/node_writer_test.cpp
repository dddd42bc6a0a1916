// Labels and cordons of nodes: one patch of the version that the watch showed, and the result of
// every answer.

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "k8s/write/node_writer.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

std::string failure(int code, const std::string& reason) {
    return R"({"kind":"Status","status":"Failure","reason":")" + reason + R"(","code":)" +
           std::to_string(code) + "}";
}
std::string node_of_version(const std::string& version) {
    return R"({"kind":"Node","metadata":{"name":"n1","uid":"u1","resourceVersion":")" + version +
           R"("}})";
}

class NodeWriterTest : public LoopTest {
protected:
    struct Always : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };

    // What the watch shows changes to `later` after the first patch was answered.
    NodeChangeOutcome change_against(ScriptedServer::Script script, ChangeNode order,
                                     std::optional<WatchedNode> later = std::nullopt) {
        ScriptedServer server{std::move(script)};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<NodeChangeOutcome> outcome;
        int reads = 0;
        NodeWriter writer{group, *client,
                          [&](const std::string& name) -> std::optional<WatchedNode> {
                              if (name != "n1") return std::nullopt;
                              ++reads;
                              return reads > 2 && later ? *later : shown;
                          },
                          [&](NodeChangeOutcome done) { outcome = std::move(done); }};
        writer.change(std::move(order));
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && writer.idle(); }));
        seen = server.received();
        return outcome.value_or(NodeChangeOutcome{});
    }
    static ChangeNode order_of(const std::string& node) {
        ChangeNode order{EffectId{7}, Epoch{1}, "r1", {}};
        order.change.node = node;
        order.change.set["runwhere.ai/pool"] = "training";
        return order;
    }

    Always fence;
    WatchedNode shown{"u1", "5", false, {{"old", "x"}}};
    std::vector<SeenRequest> seen;
};

TEST_F(NodeWriterTest, one_patch_changes_the_version_that_the_watch_showed) {
    ChangeNode order = order_of("n1");
    order.change.remove = {"old"};
    order.change.cordon = NodeCordon::cordon;
    const auto outcome = change_against(
        [](const SeenRequest&, Reply& reply) { reply.respond(200, node_of_version("6")); }, order,
        WatchedNode{"u1", "7", true, {}});
    EXPECT_EQ(outcome.result, NodeChangeResult::changed);
    EXPECT_EQ(outcome.effect, EffectId{7});
    EXPECT_EQ(outcome.request, "r1");
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method, "PATCH");
    EXPECT_EQ(seen[0].target, "/api/v1/nodes/n1?fieldManager=gpuctl");
    const auto patch = nlohmann::json::parse(seen[0].body);
    EXPECT_EQ(patch["metadata"]["resourceVersion"], "5");
    EXPECT_EQ(patch["metadata"]["uid"], "u1");
    EXPECT_EQ(patch["metadata"]["labels"]["runwhere.ai/pool"], "training");
    EXPECT_TRUE(patch["metadata"]["labels"]["old"].is_null());
    EXPECT_EQ(patch["spec"]["unschedulable"], true);
}

TEST_F(NodeWriterTest, a_success_is_answered_after_the_watch_has_shown_it) {
    // Until the third read the watch shows version 5.
    const auto outcome = change_against(
        [](const SeenRequest&, Reply& reply) { reply.respond(200, node_of_version("6")); },
        order_of("n1"), WatchedNode{"u1", "6", false, {}});
    EXPECT_EQ(outcome.result, NodeChangeResult::changed);
    EXPECT_TRUE(is_at_least("6", "6") && is_at_least("10", "9"));
    EXPECT_FALSE(is_at_least("5", "6") || is_at_least("9", "10") || is_at_least("a", "b"));
}

TEST_F(NodeWriterTest, a_node_that_changed_meanwhile_is_checked_again) {
    WatchedNode changed{"u1", "6", false, {{"runwhere.ai/pool", "other"}}};
    const auto outcome = change_against(
        [](const SeenRequest&, Reply& reply) { reply.respond(409, failure(409, "Conflict")); },
        order_of("n1"), changed);
    EXPECT_EQ(outcome.result, NodeChangeResult::refused);
    EXPECT_EQ(outcome.code, ErrorCode::LabelConflict) << "by now it has another pool";
    EXPECT_EQ(seen.size(), 1u) << "not written over";
}

TEST_F(NodeWriterTest, what_is_so_already_or_cannot_be_is_not_sent) {
    const auto answer = [](const SeenRequest&, Reply& reply) { reply.respond(500, "{}"); };
    shown.labels["runwhere.ai/pool"] = "training";
    EXPECT_EQ(change_against(answer, order_of("n1")).result, NodeChangeResult::changed);
    EXPECT_TRUE(seen.empty());
    shown.labels["runwhere.ai/pool"] = "other";
    EXPECT_EQ(change_against(answer, order_of("n1")).code, ErrorCode::LabelConflict);
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(change_against(answer, order_of("n2")).code, ErrorCode::NodeNotFound);
    EXPECT_EQ(change_against(answer, order_of("../pods")).code, ErrorCode::NodeNotFound);
    EXPECT_TRUE(seen.empty());
}

TEST_F(NodeWriterTest, refusals_are_final_and_lost_answers_are_not_known) {
    const auto with = [&](int status, const std::string& reason) {
        return change_against([=](const SeenRequest&,
                                  Reply& reply) { reply.respond(status, failure(status, reason)); },
                              order_of("n1"));
    };
    const auto forbidden = with(403, "Forbidden");
    EXPECT_EQ(forbidden.result, NodeChangeResult::refused);
    EXPECT_EQ(forbidden.code, ErrorCode::Forbidden);
    EXPECT_EQ(with(422, "Invalid").code, ErrorCode::ValidationFailed);
    EXPECT_EQ(with(404, "NotFound").code, ErrorCode::NodeNotFound);
}

}  // namespace
}  // namespace gpuctl::k8s
