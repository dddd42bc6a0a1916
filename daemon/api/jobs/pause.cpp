// POST /api/v1/jobs/{id}/pause and /resume.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/job_body.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/amount_text.hpp"

namespace gpuctl::api {
namespace {

struct PauseBody {
    bool releases = false;
    std::uint64_t revision = 0;
};

// {"release": true or false, "resourceVersion": text}; an empty body is an empty object.
Result<PauseBody> read_pause(const Call& call, bool may_release) {
    PauseBody out;
    if (call.request.body.empty()) return out;
    const nlohmann::json body = nlohmann::json::parse(call.request.body, nullptr, false);
    if (!body.is_object())
        return make_error(ErrorCode::InvalidJson, "read the body: it must be a JSON object");
    for (const auto& [name, value] : body.items()) {
        if (name == "release" && may_release && value.is_boolean()) {
            out.releases = value.get<bool>();
        } else if (name == "resourceVersion" && value.is_string()) {
            const Result<std::uint64_t> revision = read_revision(value.get<std::string>());
            if (!revision) return revision.error();
            out.revision = *revision;
        } else {
            return make_error(ErrorCode::BadRequest,
                              std::string{"read the body: it may have "} +
                                  (may_release ? "\"release\": true or false, and " : "") +
                                  "\"resourceVersion\": text; \"" + name + "\" is not valid");
        }
    }
    return out;
}

Result<JobView> job_to_pause(Services& services, const Call& call, const char* doing) {
    Result<JobView> job =
        find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
    if (!job) return job.error();
    const std::string name = std::string{doing} + " job " + to_string(job->key) + ": ";
    if (!job->kind)
        return make_error(ErrorCode::Conflict,
                          name +
                              "it was not created by gpuctl; suspend the object that created "
                              "it (kubectl)");
    if (job->record == nullptr)
        return make_error(ErrorCode::Conflict, name + "it has ended; there is nothing to " + doing);
    return job;
}

Json pause_answer(const ObjectKey& key, std::uint64_t revision, const char* status,
                  const char* action, std::string message) {
    Json body;
    body["jobId"] = key.name;
    body["namespace"] = key.namespace_name;
    body["status"] = status;
    body["action"] = action;
    body["message"] = std::move(message);
    body["resourceVersion"] = std::to_string(revision);
    return body;
}

// What its bound pods hold, which it keeps.
GpuMilli gpus_held(const JobView& job) {
    GpuMilli sum = job.gpus_kept;
    for (const PodView& pod : job.pods) {
        if (!pod.node.empty() && !is_terminal(pod.facts.phase)) sum += job.gpus_per_pod;
    }
    return sum;
}

std::string paused_message(const JobView& job, bool releases) {
    const std::string name = "job " + to_string(job.key) + " is paused";
    if (releases) return name + "; its GPUs are released as its pods stop";
    const GpuMilli gpus = gpus_held(job);
    if (gpus == GpuMilli{}) return name + "; it held no GPUs";
    return name + "; it keeps " + amounts::gpus_noun(gpus.value()) +
           " until it is resumed (pause it with --release to free them)";
}

}  // namespace

aio::Task<net::HttpResponse> pause_job(Services& services, Call call) {
    const Result<PauseBody> body = read_pause(call, true);
    if (!body) co_return problem_reply(body.error(), call);
    const Result<JobView> job = job_to_pause(services, call, "pause");
    if (!job) co_return problem_reply(job.error(), call);
    const ObjectKey key = job->key;
    const std::uint64_t revision = job->revision;
    const bool is_so = job->paused && (job->releases || !body->releases);
    if (is_so && body->revision == 0) {
        const std::string message = "job " + to_string(key) + " is paused already";
        co_return json_reply(200, pause_answer(key, revision, "paused", "unchanged", message));
    }
    std::string message = paused_message(*job, body->releases);
    JobUpdated event{key, job->record->uid, body->revision, {}};
    event.change.kind = JobChangeKind::pause;
    event.change.releases = body->releases;
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> done = co_await services.engine.change(std::move(event), deadline);
    if (!done) co_return problem_reply(with_cause(services, done.error()), call);
    co_return json_reply(200,
                         pause_answer(key, revision + 1, "paused", "update", std::move(message)));
}

aio::Task<net::HttpResponse> resume_job(Services& services, Call call) {
    const Result<PauseBody> body = read_pause(call, false);
    if (!body) co_return problem_reply(body.error(), call);
    const Result<JobView> job = job_to_pause(services, call, "resume");
    if (!job) co_return problem_reply(job.error(), call);
    const ObjectKey key = job->key;
    const std::uint64_t revision = job->revision;
    const bool is_so = !job->paused && job->status != to_string(JobStatus::suspended);
    if (is_so && body->revision == 0) {
        const std::string message = "job " + to_string(key) + " is not paused";
        co_return json_reply(200, pause_answer(key, revision, "resumed", "unchanged", message));
    }
    std::string message = "job " + to_string(key) + " is resumed";
    if (job->gpus_kept > GpuMilli{}) {
        message += " on the " + amounts::gpus_noun(job->gpus_kept.value()) + " that it kept";
    } else if (job->paused) {
        message += "; it waits for GPUs like other jobs";
    }
    JobUpdated event{key, job->record->uid, body->revision, {}};
    event.change.kind = JobChangeKind::resume;
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> done = co_await services.engine.change(std::move(event), deadline);
    if (!done) co_return problem_reply(with_cause(services, done.error()), call);
    co_return json_reply(200,
                         pause_answer(key, revision + 1, "resumed", "update", std::move(message)));
}

}  // namespace gpuctl::api
