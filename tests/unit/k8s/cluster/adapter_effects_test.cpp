// A binding against a server whose answer may be lost: posted once, and its outcome never guessed.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "k8s/write/binder.hpp"
#include "unit/k8s/client/loop_fixture.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class EffectTest : public LoopTest {
protected:
    struct Always : WriteFence {
        bool open = true;
        [[nodiscard]] bool may_write(Epoch) const override { return open; }
    };

    BindOutcome bind_against(ScriptedServer::Script script) {
        ScriptedServer server{std::move(script)};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<BindOutcome> outcome;
        BinderSettings binder_settings;
        binder_settings.timeout = std::chrono::milliseconds{300};
        Binder binder{group, *client, binder_settings,
                      [&](BindOutcome done) { outcome = std::move(done); }};
        BindPod order;
        order.id = EffectId{3};
        order.epoch = Epoch{1};
        order.pod = {{"t", "a"}, "u-a"};
        order.node = "n1";
        binder.bind(order);
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && binder.idle(); }));
        seen = server.received();
        return outcome.value_or(BindOutcome{});
    }
    [[nodiscard]] long posts() const {
        return std::count_if(seen.begin(), seen.end(),
                             [](const SeenRequest& request) { return request.method == "POST"; });
    }

    Always fence;
    std::vector<SeenRequest> seen;
};

TEST_F(EffectTest, a_created_binding_is_bound_with_one_request) {
    const auto outcome =
        bind_against([](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); });
    EXPECT_EQ(outcome.result, BindResult::bound);
    EXPECT_EQ(outcome.uid, "u-a");
    EXPECT_EQ(seen.size(), 1u);
}

TEST_F(EffectTest, a_conflict_is_read_back_and_never_posted_again) {
    const auto outcome = bind_against([](const SeenRequest& request, Reply& reply) {
        if (request.method == "GET") return reply.respond(200, pod_json("a", "Running", "n2"));
        reply.respond(409,
                      R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409})");
    });
    EXPECT_EQ(outcome.result, BindResult::elsewhere);
    EXPECT_EQ(posts(), 1);
}

TEST_F(EffectTest, a_binding_with_a_cut_answer_is_bound_if_the_pod_says_so) {
    const auto outcome = bind_against([](const SeenRequest& request, Reply& reply) {
        if (request.method == "GET") return reply.respond(200, pod_json("a", "Pending", "n1"));
        reply.cut();
    });
    EXPECT_EQ(outcome.result, BindResult::bound);
    EXPECT_EQ(posts(), 1);
}

TEST_F(EffectTest, a_binding_that_a_web_page_answered_is_read_back) {
    for (const char* page :
         {"<html>Sign in</html>", "no healthy upstream", R"({"kind":"Status",)", ""}) {
        const auto outcome = bind_against([&](const SeenRequest& request, Reply& reply) {
            reply.respond(200, request.method == "GET" ? pod_json("a") : std::string{page});
        });
        EXPECT_EQ(outcome.result, BindResult::failed) << page;
        EXPECT_EQ(posts(), 1) << page;
    }
}

TEST_F(EffectTest, a_binding_that_timed_out_is_read_back_until_the_server_answers) {
    std::atomic<int> gets{0};
    const auto outcome = bind_against([&](const SeenRequest& request, Reply& reply) {
        if (request.method != "GET") return reply.stall();
        if (++gets < 2) return reply.cut();
        reply.respond(200, pod_json("a"));
    });
    EXPECT_EQ(outcome.result, BindResult::failed);  // certainly unbound: may be retried
    EXPECT_EQ(posts(), 1);
    EXPECT_GE(gets.load(), 2);
}

TEST_F(EffectTest, a_closed_fence_sends_nothing) {
    fence.open = false;
    const auto outcome =
        bind_against([](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); });
    EXPECT_EQ(outcome.result, BindResult::failed);
    EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
