// Evictions: one request with the pod's uid, and every answer the API server may give.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "k8s/write/evictor.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class EvictorTest : public LoopTest {
protected:
    struct Always : WriteFence {
        bool open = true;
        [[nodiscard]] bool may_write(Epoch) const override { return open; }
    };

    PodEvictOutcome evict_against(ScriptedServer::Script script, bool has_controller = true) {
        ScriptedServer server{std::move(script)};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<PodEvictOutcome> outcome;
        Evictor evictor{group, *client,
                        [&](const EvictPod&, PodEvictOutcome done) { outcome = std::move(done); }};
        EvictPod order;
        order.id = EffectId{7};
        order.epoch = Epoch{1};
        order.pod = {{"t", "a"}, "u-a"};
        evictor.evict(order, has_controller);
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && evictor.idle(); }));
        seen = server.received();
        return outcome.value_or(PodEvictOutcome{});
    }
    EvictResult answered(int status, const std::string& body) {
        return evict_against([status, body](const SeenRequest&, Reply& reply) {
                   reply.respond(status, body);
               })
            .result;
    }

    Always fence;
    std::vector<SeenRequest> seen;
};

TEST_F(EvictorTest, an_eviction_carries_the_uid_and_is_posted_once) {
    EXPECT_EQ(answered(201, "{}"), EvictResult::evicted);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method, "POST");
    EXPECT_EQ(seen[0].target, "/api/v1/namespaces/t/pods/a/eviction");
    EXPECT_NE(seen[0].body.find("\"preconditions\":{\"uid\":\"u-a\"}"), std::string::npos)
        << seen[0].body;
}

TEST_F(EvictorTest, a_disruption_budget_is_an_answer_and_not_retried_here) {
    EXPECT_EQ(
        answered(429,
                 R"({"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429,)"
                 R"("details":{"causes":[{"reason":"DisruptionBudget","message":"needs 4"}]}})"),
        EvictResult::disruption_budget);
    EXPECT_EQ(seen.size(), 1u);
}

TEST_F(EvictorTest, an_overloaded_api_server_is_no_disruption_budget) {
    EXPECT_EQ(answered(429, R"({"kind":"Status","status":"Failure","code":429})"),
              EvictResult::failed);
}

TEST_F(EvictorTest, a_pod_that_was_removed_or_replaced_is_gone) {
    EXPECT_EQ(answered(404, R"({"kind":"Status","status":"Failure","reason":"NotFound"})"),
              EvictResult::gone);
    EXPECT_EQ(answered(409, R"({"kind":"Status","status":"Failure","reason":"Conflict"})"),
              EvictResult::gone);
}

TEST_F(EvictorTest, a_forbidden_eviction_is_refused_for_good) {
    EXPECT_EQ(answered(403, R"({"kind":"Status","status":"Failure","reason":"Forbidden"})"),
              EvictResult::refused);
}

// More than one budget covers it: HTTP 201, with a failure in the body.
TEST_F(EvictorTest, a_failure_in_a_body_that_claims_success_is_a_failure) {
    EXPECT_EQ(answered(201, R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":500,)"
                            R"("message":"more than one PodDisruptionBudget"})"),
              EvictResult::failed);
}

TEST_F(EvictorTest, a_pod_without_a_controller_is_never_evicted) {
    const auto outcome =
        evict_against([](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); }, false);
    EXPECT_EQ(outcome.result, EvictResult::refused);
    EXPECT_TRUE(seen.empty());
}

TEST_F(EvictorTest, a_closed_fence_sends_nothing) {
    fence.open = false;
    EXPECT_EQ(answered(201, "{}"), EvictResult::failed);
    EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
