// The body of a binding and the result of its answer, without a server: pure functions.

#include "k8s/write/binder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gpuctl::k8s {
namespace {

BindPod order() {
    BindPod order;
    order.id = EffectId{9};
    order.epoch = Epoch{7};
    order.pod = {{"team-a", "llm-0"}, "u1"};
    order.node = "n1";
    order.gang_attempt = 2;
    return order;
}

ApiResult<ApiResponse> refused(ErrorCode code, int status) {
    ApiError error = make_api_error(code, "no");
    error.http_status = status;
    return error;
}

PodGlimpse on(std::string node) { return {"u1", std::move(node), false, false}; }

BindResult read_back(ErrorCode first, const std::optional<PodGlimpse>& pod) {
    return classify_read_back(order(), first, pod);
}

TEST(Binder, the_binding_carries_the_pods_uid) {
    const auto body = nlohmann::json::parse(binding_body(order(), LabelKeys{}));
    EXPECT_EQ(body["metadata"]["uid"], "u1");
}

TEST(Binder, a_pod_that_came_back_under_its_name_counts_as_gone) {
    EXPECT_EQ(read_back(ErrorCode::Conflict, PodGlimpse{"u2", "n1", false, false}),
              BindResult::gone);
    EXPECT_EQ(read_back(ErrorCode::NotFound, std::nullopt), BindResult::gone);
}

TEST(Binder, a_pod_is_bound_by_the_binding_subresource_and_nothing_else) {
    EXPECT_EQ(binding_path(order().pod), "/api/v1/namespaces/team-a/pods/llm-0/binding");
    const auto body = nlohmann::json::parse(binding_body(order(), LabelKeys{}));
    EXPECT_EQ(body, nlohmann::json::parse(R"({"apiVersion":"v1","kind":"Binding",
      "metadata":{"namespace":"team-a","name":"llm-0","uid":"u1","annotations":
        {"runwhere.ai/epoch":"7","runwhere.ai/gang-attempt":"2"}},
      "target":{"kind":"Node","name":"n1"}})"));
}

TEST(Binder, the_binding_carries_the_device_of_a_part) {
    BindPod part = order();
    part.gpu_device = 3;
    const auto body = nlohmann::json::parse(binding_body(part, LabelKeys{}));
    EXPECT_EQ(body["metadata"]["annotations"]["runwhere.ai/gpu-device"], "3");
}

TEST(Binder, names_are_escaped_wherever_they_go) {
    BindPod odd = order();
    odd.pod.key.name = "a/b\"c";
    odd.node = "n\n1";
    EXPECT_EQ(binding_path(odd.pod), "/api/v1/namespaces/team-a/pods/a%2Fb%22c/binding");
    EXPECT_EQ(nlohmann::json::parse(binding_body(odd, LabelKeys{}))["target"]["name"], "n\n1");
}

TEST(Binder, a_conflict_is_never_sent_again) {
    EXPECT_EQ(classify_answer(refused(ErrorCode::Conflict, 409)), std::nullopt);  // read back first
    EXPECT_EQ(read_back(ErrorCode::Conflict, on("n2")), BindResult::elsewhere);
    EXPECT_EQ(read_back(ErrorCode::Conflict, on("n1")), BindResult::bound);
    EXPECT_EQ(read_back(ErrorCode::Conflict, PodGlimpse{"u1", "", true, false}),
              BindResult::refused);
    EXPECT_EQ(read_back(ErrorCode::Conflict, PodGlimpse{"u1", "", false, true}),
              BindResult::refused);
}

TEST(Binder, an_unknown_outcome_is_decided_by_the_pod) {
    EXPECT_EQ(classify_answer(refused(ErrorCode::UnknownOutcome, 0)), std::nullopt);
    EXPECT_EQ(classify_answer(refused(ErrorCode::UnknownOutcome, 500)), std::nullopt);
    EXPECT_EQ(read_back(ErrorCode::UnknownOutcome, on("n1")), BindResult::bound);
    EXPECT_EQ(read_back(ErrorCode::UnknownOutcome, on("n2")), BindResult::elsewhere);
    EXPECT_EQ(read_back(ErrorCode::UnknownOutcome, on("")), BindResult::failed);
}

TEST(Binder, an_unbound_pod_is_never_taken_for_bound_to_no_node) {
    BindPod nowhere = order();
    nowhere.node.clear();
    EXPECT_EQ(classify_read_back(nowhere, ErrorCode::UnknownOutcome, on("")), BindResult::failed);
}

TEST(Binder, a_request_that_was_certainly_not_processed_is_not_read_back) {
    for (const ErrorCode code : {ErrorCode::NotLeader, ErrorCode::Unreachable, ErrorCode::TlsFailed,
                                 ErrorCode::TooManyRequests, ErrorCode::Unauthorized}) {
        EXPECT_EQ(classify_answer(refused(code, 0)), BindResult::failed) << to_string(code);
    }
    EXPECT_EQ(classify_answer(ApiResponse{201, "{}"}), BindResult::bound);
}

TEST(Binder, a_missing_right_is_retried_but_a_gang_does_not_wait_for_it) {
    PodGlimpse pending;
    pending.uid = "u";
    BindPod order;
    order.pod.uid = "u";
    order.node = "n";
    EXPECT_EQ(classify_read_back(order, ErrorCode::Forbidden, pending), BindResult::failed);
    order.gang_attempt = 1;
    EXPECT_EQ(classify_read_back(order, ErrorCode::Forbidden, pending), BindResult::refused);
}

TEST(Binder, an_invalid_binding_is_refused) {
    for (const ErrorCode code : {ErrorCode::BadRequest, ErrorCode::ValidationFailed}) {
        EXPECT_EQ(classify_answer(refused(code, 403)), std::nullopt);
        EXPECT_EQ(read_back(code, on("")), BindResult::refused) << to_string(code);
    }
}

TEST(Binder, a_glimpse_reads_only_the_deciding_members) {
    const auto pod = glimpse_pod(R"({"kind":"Pod","metadata":{"uid":"u","name":"p"},
      "spec":{"nodeName":"n","schedulingGates":[{"name":"g"}],"containers":[{"name":"uid"}]}})");
    ASSERT_TRUE(pod.has_value());
    EXPECT_EQ(pod->uid, "u");
    EXPECT_EQ(pod->node, "n");
    EXPECT_TRUE(pod->gated);
    EXPECT_FALSE(pod->terminating);
    EXPECT_FALSE(glimpse_pod("{\"metadata\":{}}").has_value());
    EXPECT_FALSE(glimpse_pod("<html>").has_value());
}

}  // namespace
}  // namespace gpuctl::k8s
