// Changes of a job's object: one patch with the version that was read, and the result of every
// answer.

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "k8s/workload/workload_update.hpp"
#include "k8s/write/workload_maker.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;
using Json = nlohmann::json;

std::string object_of(const std::string& job_uid) {
    return R"({"metadata":{"name":"chat","uid":"u-1","resourceVersion":"42","labels":{)"
           R"("runwhere.ai/job-type":"inference","runwhere.ai/job-uid":")" +
           job_uid + R"("}}})";
}

UpdateWorkload order_of(JobKind kind, WorkloadPart part, bool paused = false) {
    JobRecord job;
    job.uid = "job-uid";
    job.source = "kind: x\n";
    job.spec.kind = kind;
    job.spec.key = {"t", "chat"};
    job.spec.image = "a:2";
    job.spec.service.replicas = 3;
    job.spec.replicas_min = job.spec.replicas_max = kind == JobKind::training ? 1 : 3;
    return {EffectId{7}, Epoch{1}, "job-uid", kind, job, paused, part, Instant{}};
}

Json body_of(const UpdateWorkload& order) {
    const auto body = update_body(order, {}, "42");
    EXPECT_TRUE(body);
    return Json::parse(body->text);
}

TEST(UpdateBody, a_paused_job_is_suspended_and_all_else_stays) {
    const auto body = update_body(order_of(JobKind::training, WorkloadPart::size, true), {}, "42");
    ASSERT_TRUE(body);
    EXPECT_EQ(body->content_type, kMergePatch);
    const Json patch = Json::parse(body->text);
    EXPECT_EQ(patch["spec"], (Json{{"suspend", true}}));
    EXPECT_EQ(patch["metadata"]["resourceVersion"], "42");
}

TEST(UpdateBody, a_paused_deployment_has_no_replicas_and_remembers_how_many) {
    const Json paused = body_of(order_of(JobKind::inference, WorkloadPart::size, true));
    EXPECT_EQ(paused["spec"], (Json{{"replicas", 0}}));
    EXPECT_EQ(paused["metadata"]["annotations"]["runwhere.ai/paused-replicas"], "3");
    const Json resumed = body_of(order_of(JobKind::inference, WorkloadPart::size));
    EXPECT_EQ(resumed["spec"], (Json{{"replicas", 3}}));
    EXPECT_TRUE(resumed["metadata"]["annotations"]["runwhere.ai/paused-replicas"].is_null());
}

TEST(UpdateBody, a_notebook_has_one_replica_again) {
    const Json resumed = body_of(order_of(JobKind::notebook, WorkloadPart::size));
    EXPECT_EQ(resumed["spec"], (Json{{"replicas", 1}}));
}

TEST(UpdateBody, the_whole_of_a_service_is_applied_and_of_a_job_only_its_annotations) {
    const auto whole = update_body(order_of(JobKind::inference, WorkloadPart::whole), {}, "42");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->content_type, kApplyPatch);
    EXPECT_TRUE(whole->overrides);
    const Json object = Json::parse(whole->text);
    EXPECT_EQ(object["metadata"]["resourceVersion"], "42");
    EXPECT_EQ(object["spec"]["template"]["spec"]["containers"][0]["image"], "a:2");
    const Json job = body_of(order_of(JobKind::training, WorkloadPart::whole));
    EXPECT_FALSE(job["spec"].contains("template"));
    EXPECT_EQ(job["metadata"]["annotations"]["runwhere.ai/source"], "kind: x\n");
}

class WorkloadUpdate : public LoopTest {
protected:
    struct Always : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };

    // GET of the object is answered with `found` (empty: 404), a PATCH of it with `status`.
    WorkloadOutcome update(const UpdateWorkload& order, const std::string& found, int status) {
        ScriptedServer server{[=](const SeenRequest& request, Reply& reply) {
            const bool is_object = request.target.find("/deployments/chat") != std::string::npos;
            if (request.method == "GET" && is_object && !found.empty())
                return reply.respond(200, found);
            if (request.method == "GET" &&
                request.target.find("priorityclasses") != std::string::npos)
                return reply.respond(200, R"({"value":500000})");
            if (request.method == "GET")
                return reply.respond(404, R"({"kind":"Status","reason":"NotFound","code":404})");
            if (request.method == "PATCH" && is_object && status != 200)
                return reply.respond(status, R"({"kind":"Status","message":"no","code":)" +
                                                 std::to_string(status) + "}");
            reply.respond(200, found.empty() ? "{}" : found);
        }};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<WorkloadOutcome> outcome;
        WorkloadMaker maker{group, *client, WorkloadSettings{}, [&](Event event) {
                                outcome = std::get<WorkloadOutcome>(std::move(event));
                            }};
        maker.update(order);
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && maker.idle(); }));
        seen = server.received();
        return outcome.value_or(WorkloadOutcome{});
    }
    [[nodiscard]] std::vector<std::string> writes() const {
        std::vector<std::string> out;
        for (const SeenRequest& request : seen) {
            if (request.method != "GET") out.push_back(request.method + " " + request.target);
        }
        return out;
    }

    Always fence;
    std::vector<SeenRequest> seen;
};

const std::string kObject = "/apis/apps/v1/namespaces/t/deployments/chat";
const std::string kService = "/api/v1/namespaces/t/services/svc-chat";

TEST_F(WorkloadUpdate, a_size_is_one_patch_of_the_object_that_was_read) {
    const auto outcome =
        update(order_of(JobKind::inference, WorkloadPart::size), object_of("job-uid"), 200);
    EXPECT_TRUE(outcome.done) << outcome.message;
    EXPECT_EQ(writes(), (std::vector<std::string>{"PATCH " + kObject + "?fieldManager=gpuctl"}));
}

TEST_F(WorkloadUpdate, all_of_a_service_is_applied_with_its_service_and_nothing_is_deleted) {
    const auto outcome =
        update(order_of(JobKind::inference, WorkloadPart::whole), object_of("job-uid"), 200);
    EXPECT_TRUE(outcome.done) << outcome.message;
    EXPECT_EQ(writes(),
              (std::vector<std::string>{"PATCH " + kObject + "?fieldManager=gpuctl&force=true",
                                        "PATCH " + kService + "?fieldManager=gpuctl"}));
}

TEST_F(WorkloadUpdate, the_object_of_another_job_is_not_touched) {
    const auto outcome =
        update(order_of(JobKind::inference, WorkloadPart::size), object_of("other-uid"), 200);
    EXPECT_FALSE(outcome.done || outcome.retryable);
    EXPECT_EQ(outcome.code, ErrorCode::Conflict);
    EXPECT_TRUE(writes().empty());
}

TEST_F(WorkloadUpdate, what_is_gone_is_reported_and_what_changed_meanwhile_is_read_again) {
    const UpdateWorkload order = order_of(JobKind::inference, WorkloadPart::size);
    const auto gone = update(order, "", 200);
    EXPECT_FALSE(gone.done || gone.retryable);
    EXPECT_EQ(gone.code, ErrorCode::JobNotFound);
    EXPECT_TRUE(update(order, object_of("job-uid"), 409).retryable);
    EXPECT_TRUE(update(order, object_of("job-uid"), 503).retryable);
    EXPECT_FALSE(update(order, object_of("job-uid"), 422).retryable);
}

TEST_F(WorkloadUpdate, what_cannot_be_patched_is_rehearsed_before_it_is_deleted) {
    UpdateWorkload order = order_of(JobKind::inference, WorkloadPart::whole);
    JobRecord again = *order.job;
    again.uid = "second-uid";
    order.job = again;
    (void)update(order, object_of("job-uid"), 200);
    const std::vector<std::string> sent = writes();
    ASSERT_GE(sent.size(), 3u);
    EXPECT_EQ(sent[0], "PATCH " + kObject + "-dry-run?fieldManager=gpuctl&dryRun=All");
    EXPECT_EQ(sent[1], "PATCH " + kService + "?fieldManager=gpuctl") << "it outlives the object";
    EXPECT_EQ(sent[2], "DELETE " + kObject);
}

TEST_F(WorkloadUpdate, a_refused_rehearsal_deletes_nothing) {
    UpdateWorkload order = order_of(JobKind::inference, WorkloadPart::whole);
    JobRecord again = *order.job;
    again.uid = "second-uid";
    order.job = again;
    const auto outcome = update(order, object_of("job-uid"), 422);
    EXPECT_FALSE(outcome.done || outcome.retryable) << outcome.message;
    EXPECT_EQ(writes().size(), 1u);
}

}  // namespace
}  // namespace gpuctl::k8s
