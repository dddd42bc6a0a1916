// POST /api/v1/jobs: exactly one job per request. POST /api/v1/jobs/batch: several, each by itself,
// in the order of the request.

#include <nlohmann/json.hpp>

#include "daemon/api/cluster/node_requests.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/job_body.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/jobs/store_job.hpp"
#include "daemon/api/preflight/head_room.hpp"
#include "daemon/api/preflight/namespace_use.hpp"
#include "daemon/api/preflight/pod_quota.hpp"
#include "wire/problem.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kIdempotencyKeyBytesMax = 128;
constexpr std::size_t kBatchJobsMax = 100;

Json created_json(const JobRecord& job, const std::string& message) {
    const JobSpec& spec = job.spec;
    Json body;
    body["jobId"] = spec.key.name;
    body["name"] = spec.key.name;
    body["namespace"] = spec.key.namespace_name;
    body["kind"] = to_string(spec.kind);
    body["uid"] = job.uid;
    body["status"] = to_string(JobStatus::pending);
    body["action"] = "create";
    body["createdAt"] = format_time(job.submitted_at);
    body["message"] = message;
    body["resources"] = {{"gpu", gpus_json(gpus_total(pod_request(spec)))},
                         {"gpuType", gpu_model_of(spec)},
                         {"pool", spec.pool.empty() ? kDefaultPool : spec.pool}};
    return body;
}

// The same for a job that has finished since, from its summary.
Json created_json(const FinishedJob& job) {
    JobRecord record;
    record.uid = job.uid;
    record.spec.key = job.key;
    record.spec.kind = job.kind;
    record.spec.pool = job.pool;
    record.spec.gpu_type = job.gpu_type.substr(0, job.gpu_type.find(','));
    record.submitted_at = job.submitted_at;
    Json body = created_json(record, "stored; finished since then");
    body["resources"]["gpu"] = gpus_json(job.gpus_per_pod);
    return body;
}

std::string waiting_message(const JobRecord& job) {
    return "stored; waits in pool " + (job.spec.pool.empty() ? kDefaultPool : job.spec.pool);
}

// The checks of every create before the job is stored: its pool, its name, its queue and quota, and
// the nodes of its pool.
std::optional<Error> check_placeable(Services& services, const JobSpec& spec) {
    const std::optional<Refusal> never = preflight(services.engine.state(), spec);
    if (never && (never->code == ErrorCode::PoolNotFound || never->code == ErrorCode::PoolEmpty))
        return wording::error_of(*never);
    const Result<JobView> existing =
        find_job(services.engine.listing(), spec.key.namespace_name, spec.key.name);
    if (!existing && existing.error().code == ErrorCode::JobAmbiguous) {
        Error taken =
            make_error(ErrorCode::JobExists, "create job " + to_string(spec.key) +
                                                 " already exists: several jobs have that "
                                                 "name; choose another name");
        taken.details = existing.error().details;
        return taken;
    }
    const bool is_taken = existing && shown_name(existing->key) == spec.key.name;
    if (is_taken && !existing->never_made) {
        const char* const help = existing->status == "Terminating"
                                     ? "; try again when it is gone, or choose another name"
                                     : "; change it with `gpuctl apply`, delete it first, or "
                                       "choose another name";
        return make_error(ErrorCode::JobExists, "create job " + to_string(spec.key) +
                                                    ": it already exists and is " +
                                                    existing->status + help);
    }
    if (never) return wording::error_of(*never);
    return pod_quota_refusal(services, "create job " + to_string(spec.key), spec);
}

// All inputs that decide what is created, including the dry-run flag.
std::string request_fingerprint(const net::HttpRequest& request) {
    return request.target + "\n" + request.body;
}

aio::Task<net::HttpResponse> store(Services& services, Call call, std::string key) {
    std::vector<Detail> warnings;
    Result<JobBody> body_read = read_job(services, call, warnings);
    if (!body_read) co_return problem_reply(body_read.error(), call, warnings);
    net::HttpResponse response = co_await store_job(
        services, std::move(call), std::move(*body_read), std::move(warnings), std::move(key));
    co_return response;
}

// The answer to a repeated request, or a refusal; nullopt: continue.
std::optional<net::HttpResponse> answer_repeat(Services& services, const Call& call,
                                               const KeyState& state) {
    if (std::holds_alternative<KeyIsNew>(state)) return std::nullopt;
    if (const auto* answered = std::get_if<KeyAnswered>(&state)) {
        net::HttpResponse response = json_reply(201, Json::object());
        response.body = answered->body;
        response.fields.set("Idempotency-Replayed", "true");
        return response;
    }
    if (const auto* known = std::get_if<KeyOfJob>(&state)) {
        const Result<JobView> job =
            find_job(services.engine.listing(), known->job.namespace_name, whole_name(known->job));
        if (job && job->kind) {
            Json body = job->record != nullptr
                            ? created_json(*job->record, waiting_message(*job->record))
                            : created_json(*job->summary);
            body["warnings"] = Json::array();
            net::HttpResponse response = json_reply(201, body);
            response.fields.set("Idempotency-Replayed", "true");
            return response;
        }
        return problem_reply(make_error(ErrorCode::Gone,
                                        "the job created with this idempotency "
                                        "key has been deleted since then"),
                             call);
    }
    if (std::holds_alternative<KeyInWork>(state)) {
        return problem_reply(make_error(ErrorCode::Conflict,
                                        "the first request with this idempotency key is still in "
                                        "progress; retry in a second"),
                             call);
    }
    return problem_reply(make_error(ErrorCode::IdempotencyKeyReused,
                                    "this idempotency key was used with another body, namespace or "
                                    "parameter; a new request needs a new key"),
                         call);
}

// The documents of a batch.
Result<std::vector<std::string>> texts_of(const Call& call) {
    const Result<JsonBody> body = object_of(call, {"yamlContents"});
    if (!body) return body.error();
    const auto found = body->object.find("yamlContents");
    if (found == body->object.end() || !found->is_array() || found->empty() ||
        found->size() > kBatchJobsMax) {
        return make_error(ErrorCode::ValidationFailed,
                          "the body needs \"yamlContents\", a list of 1 to " +
                              std::to_string(kBatchJobsMax) + " strings, a job in each");
    }
    std::vector<std::string> texts;
    for (const Json& text : *found) {
        if (!text.is_string()) {
            return make_error(ErrorCode::ValidationFailed,
                              "yamlContents[" + std::to_string(texts.size()) +
                                  "] must be a string, the YAML of a job");
        }
        texts.push_back(text.get<std::string>());
    }
    return texts;
}

// The request that creates this job alone. An idempotency key is one of each job.
Call call_for(const Call& call, std::string text, std::size_t index) {
    Call one = call;
    one.request.body = std::move(text);
    one.request.fields.set("Content-Type", "application/yaml");
    const std::string key{call.request.fields.get("Idempotency-Key")};
    if (!key.empty()) {
        one.request.fields.set("Idempotency-Key", key + "/" + std::to_string(index));
    }
    return one;
}

bool is_plain_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

aio::Task<net::HttpResponse> store_job(Services& services, Call call, JobBody read,
                                       std::vector<Detail> warnings, std::string key) {
    JobRecord& job = read.job;
    if (std::optional<Error> refused = services.engine.refusal()) {
        co_return problem_reply(with_cause(services, *refused), call);
    }
    std::string doing = "create job " + to_string(job.spec.key);
    std::string namespace_name = job.spec.key.namespace_name;
    const Result<void> allowed =
        co_await check_namespace(services, std::move(doing), std::move(namespace_name));
    if (!allowed) co_return problem_reply(allowed.error(), call, warnings);
    if (std::optional<Error> unplaceable = check_placeable(services, job.spec)) {
        co_return problem_reply(with_place(std::move(*unplaceable), read, services.engine.state()),
                                call, warnings);
    }
    if (std::optional<std::string> tight = head_room_warning(services.engine.state(), job.spec)) {
        warnings.push_back({{.pointer = "/resources"}, std::move(*tight)});
    }
    Json body = created_json(job, read.dry_run ? "would be accepted" : waiting_message(job));
    body["warnings"] = warnings_json(warnings);
    if (read.dry_run) {
        Result<void> tried =
            co_await services.cluster.try_create(job, services.engine.state().session.epoch());
        if (!tried) co_return problem_reply(tried.error(), call, warnings);
        body["dryRun"] = true;
        co_return json_reply(200, body);
    }
    const std::string kind{to_string(job.spec.kind)};
    if (!key.empty()) {
        job.idempotency_key = IdempotencyKeys::journal_form(key, request_fingerprint(call.request));
        services.idempotency.belongs_to(key, job.spec.key);
    }
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> stored = co_await services.engine.submit(std::move(job), deadline);
    services.recorder.counter(metrics::Metric::submitted, {kind, stored ? "accepted" : "refused"})
        .add();
    if (!stored) co_return problem_reply(with_cause(services, stored.error()), call);
    co_return json_reply(201, body);
}

aio::Task<net::HttpResponse> create_job(Services& services, Call call) {
    const std::string_view given = call.request.fields.get("Idempotency-Key");
    if (given.empty()) {
        net::HttpResponse response = co_await store(services, std::move(call), "");
        co_return response;
    }
    if (given.size() > kIdempotencyKeyBytesMax || !is_plain_text(given)) {
        co_return problem_reply(
            make_error(ErrorCode::BadRequest,
                       "Idempotency-Key must have 1 to 128 visible ASCII characters"),
            call);
    }
    // Keys are scoped by client.
    const std::string key = call.caller.name + "/" + std::string{given};
    const KeyState state = services.idempotency.claim(key, request_fingerprint(call.request));
    if (std::optional<net::HttpResponse> repeat = answer_repeat(services, call, state)) {
        co_return std::move(*repeat);
    }
    net::HttpResponse response = co_await store(services, std::move(call), key);
    if (response.status == 201) {
        services.idempotency.answered(key, response.body);
    } else if (response.status == wire::row_of(ErrorCode::UnknownOutcome).http_status) {
        services.idempotency.unconfirmed(key);
    } else {
        services.idempotency.released(key);  // nothing was created: the key is free again
    }
    co_return response;
}

aio::Task<net::HttpResponse> create_jobs(Services& services, Call call) {
    Result<std::vector<std::string>> texts = texts_of(call);
    if (!texts) co_return problem_reply(texts.error(), call);
    Json success = Json::array();
    Json failed = Json::array();
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    for (std::size_t index = 0; index < texts->size(); ++index) {
        if (deadline.passed()) {
            failed.push_back({{"index", index},
                              {"error", to_string(ErrorCode::Timeout)},
                              {"message",
                               "the jobs before it took all of the time of the request; send "
                               "the rest again"}});
            continue;
        }
        Call one = call_for(call, std::move((*texts)[index]), index);
        const net::HttpResponse response = co_await create_job(services, std::move(one));
        Json answer = Json::parse(response.body, nullptr, false);
        if (response.status < 300) {
            success.push_back(std::move(answer));
            continue;
        }
        Json entry = Json::object();
        entry["index"] = index;
        for (const char* member : {"error", "message", "errors"}) {
            if (answer.contains(member)) entry[member] = std::move(answer[member]);
        }
        failed.push_back(std::move(entry));
    }
    const int status = success.empty() ? 200 : 201;
    Json body = Json::object();
    body["message"] = std::to_string(success.size()) + " of " + std::to_string(texts->size()) +
                      " jobs were accepted";
    body["success"] = std::move(success);
    body["failed"] = std::move(failed);
    co_return json_reply(status, body);
}

}  // namespace gpuctl::api
