// Sizes of elastic jobs: one patch that tests the current size, and the result of every answer.

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "k8s/write/resizer.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

std::string job_of_size(int completions, const std::string& uid = "job-uid") {
    return R"({"kind":"Job","metadata":{"name":"llm","labels":{"runwhere.ai/job-uid":")" + uid +
           R"("}},"spec":{"parallelism":)" + std::to_string(completions) + R"(,"completions":)" +
           std::to_string(completions) + "}}";
}
std::string resize_failure(int code, const std::string& reason) {
    return R"({"kind":"Status","status":"Failure","reason":")" + reason + R"(","code":)" +
           std::to_string(code) + "}";
}

class ResizerTest : public LoopTest {
protected:
    struct Always : WriteFence {
        bool open = true;
        [[nodiscard]] bool may_write(Epoch) const override { return open; }
    };

    // The patch is answered with `status`, a read of the job with `found` (empty: 404).
    WorkloadResizeOutcome resize_against(int status, std::string found, std::string body = "{}") {
        ScriptedServer server{[=](const SeenRequest& request, Reply& reply) {
            if (request.method == "PATCH") return reply.respond(status, body);
            if (found.empty()) return reply.respond(404, resize_failure(404, "NotFound"));
            reply.respond(200, found);
        }};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<WorkloadResizeOutcome> outcome;
        Resizer resizer{group, *client, LabelKeys{"runwhere.ai"},
                        [&](WorkloadResizeOutcome done) { outcome = std::move(done); }};
        ResizeWorkload order;
        order.id = EffectId{7};
        order.epoch = Epoch{1};
        order.key = {"t", "llm"};
        order.job_uid = "job-uid";
        order.from = 6;
        order.to = 4;
        resizer.resize(order);
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && resizer.idle(); }));
        seen = server.received();
        return outcome.value_or(WorkloadResizeOutcome{});
    }

    Always fence;
    std::vector<SeenRequest> seen;
};

TEST_F(ResizerTest, both_numbers_change_together_and_only_from_the_old_size) {
    EXPECT_EQ(resize_against(200, "").result, ResizeResult::resized);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method, "PATCH");
    EXPECT_EQ(seen[0].target, "/apis/batch/v1/namespaces/t/jobs/llm?fieldManager=gpuctl");
    EXPECT_EQ(seen[0].body,
              R"([{"op":"test","path":"/metadata/labels/runwhere.ai~1job-uid","value":"job-uid"},)"
              R"({"op":"test","path":"/spec/completions","value":6},)"
              R"({"op":"replace","path":"/spec/completions","value":4},)"
              R"({"op":"replace","path":"/spec/parallelism","value":4}])");
}

// A failed test is 422, and so is a size that the API server refuses: the Job as read back shows
// which.
TEST_F(ResizerTest, a_lost_answer_is_recovered_by_reading_the_job_back) {
    EXPECT_EQ(resize_against(422, job_of_size(4), resize_failure(422, "Invalid")).result,
              ResizeResult::resized);
}

TEST_F(ResizerTest, a_size_that_was_changed_elsewhere_is_reported) {
    const auto outcome = resize_against(422, job_of_size(9), resize_failure(422, "Invalid"));
    EXPECT_EQ(outcome.result, ResizeResult::other_size);
    EXPECT_EQ(outcome.size, 9);
}

TEST_F(ResizerTest, a_resize_that_is_forbidden_or_invalid_at_the_old_size_is_refused_for_good) {
    EXPECT_EQ(resize_against(403, job_of_size(6), resize_failure(403, "Forbidden")).result,
              ResizeResult::refused);
    EXPECT_EQ(resize_against(422, job_of_size(6), resize_failure(422, "Invalid")).result,
              ResizeResult::refused);
}

TEST_F(ResizerTest, a_failing_server_is_retried_later) {
    const auto outcome = resize_against(500, job_of_size(6), resize_failure(500, "InternalError"));
    EXPECT_EQ(outcome.result, ResizeResult::failed);
    EXPECT_NE(outcome.message.find("resize job t/llm from 6 to 4 ranks"), std::string::npos)
        << outcome.message;
}

TEST_F(ResizerTest, a_job_that_was_removed_or_replaced_is_gone) {
    EXPECT_EQ(resize_against(404, "", resize_failure(404, "NotFound")).result, ResizeResult::gone);
    EXPECT_EQ(resize_against(422, job_of_size(6, "another"), resize_failure(422, "Invalid")).result,
              ResizeResult::gone);
}

TEST_F(ResizerTest, a_closed_fence_sends_nothing) {
    fence.open = false;
    EXPECT_EQ(resize_against(200, job_of_size(6)).result, ResizeResult::failed);
    EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
