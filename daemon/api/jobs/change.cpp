// PUT and PATCH /api/v1/jobs/{id}: a job as a document wants it, or single fields of it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aio/entropy.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/job_body.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/jobs/store_job.hpp"
#include "daemon/api/preflight/pod_quota.hpp"
#include "scheduler/state/workloads/check_change.hpp"
#include "wire/job/job_changes.hpp"
#include "wire/job/job_document.hpp"
#include "wording/change_refusal.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

// What a request asks of a job that exists.
struct Wanted {
    JobRecord before;
    std::uint64_t revision_now = 0;
    JobBody body;
    std::vector<wire::FieldChange> changes;
    std::vector<Detail> warnings;
    [[nodiscard]] bool is_made_again() const {
        return std::any_of(changes.begin(), changes.end(),
                           [](const wire::FieldChange& change) { return !change.is_in_place; });
    }
    [[nodiscard]] bool is_only_a_size() const {
        return changes.size() == 1 && changes.front().field == "service.replicas";
    }
};

std::string_view action_of(const Wanted& wanted) {
    if (wanted.changes.empty()) return "unchanged";
    return wanted.is_made_again() ? "recreate" : "update";
}

std::string message_of(const Wanted& wanted) {
    const std::string name = "job " + to_string(wanted.before.spec.key);
    if (wanted.changes.empty()) return name + " is unchanged: it is so already";
    std::string fields;
    for (const wire::FieldChange& change : wanted.changes) {
        fields += (fields.empty() ? "" : ", ") + change.field;
    }
    const bool is_tried = wanted.body.dry_run;
    if (wanted.is_made_again())
        return name + (is_tried ? " would be" : " is") + " deleted and created again: " + fields;
    return name + (is_tried ? " would be changed: " : " is changed: ") + fields;
}

Json change_json(const Wanted& wanted, std::uint64_t revision) {
    const JobSpec& spec = wanted.body.job.spec;
    Json body;
    body["jobId"] = spec.key.name;
    body["name"] = spec.key.name;
    body["namespace"] = spec.key.namespace_name;
    body["kind"] = to_string(spec.kind);
    body["uid"] = wanted.is_made_again() ? wanted.body.job.uid : wanted.before.uid;
    body["status"] = wanted.changes.empty() ? "unchanged" : "updated";
    body["action"] = action_of(wanted);
    body["message"] = message_of(wanted);
    body["resourceVersion"] = std::to_string(revision);
    body["changes"] = Json::array();
    for (const wire::FieldChange& change : wanted.changes) {
        Json entry;
        entry["field"] = change.field;
        entry["from"] = change.from.empty() ? Json{} : Json::parse(change.from, nullptr, false);
        entry["to"] = change.to.empty() ? Json{} : Json::parse(change.to, nullptr, false);
        entry["inPlace"] = change.is_in_place;
        body["changes"].push_back(std::move(entry));
    }
    if (wanted.body.dry_run) body["dryRun"] = true;
    body["warnings"] = warnings_json(wanted.warnings);
    return body;
}

// The job of exactly this name, if it is there and was created by gpuctl.
std::optional<JobView> job_to_change(Services& services, const ObjectKey& key) {
    Result<JobView> found = find_job(services.engine.listing(), key.namespace_name, key.name);
    if (!found || shown_name(found->key) != key.name || !found->kind || found->never_made)
        return std::nullopt;
    return std::move(*found);
}

Error has_ended(const ObjectKey& key) {
    return make_error(ErrorCode::Conflict, "change job " + to_string(key) +
                                               ": it has ended; delete it, then create it again");
}

std::optional<Error> refusal_of(Services& services, const Wanted& wanted) {
    const std::string name = "change job " + to_string(wanted.before.spec.key) + ": ";
    const std::string fixed = wire::immutable_fields(wanted.changes);
    if (!fixed.empty() && !wanted.body.recreate) {
        Error error = make_error(
            ErrorCode::ImmutableField,
            name + fixed + " of a " + std::string{to_string(wanted.before.spec.kind)} +
                " job cannot be changed while it exists; with --recreate (\"recreate\": true) "
                "gpuctl deletes it and creates it again, and its pods start again");
        for (const wire::FieldChange& change : wanted.changes) {
            if (change.is_in_place) continue;
            std::string pointer = "/" + change.field;
            std::replace(pointer.begin(), pointer.end(), '.', '/');
            error.details.push_back({{pointer, 0, 0},
                                     "cannot be changed from " +
                                         (change.from.empty() ? "nothing" : change.from) + " to " +
                                         (change.to.empty() ? "nothing" : change.to)});
        }
        return error;
    }
    if (const auto never = preflight(services.engine.state(), wanted.body.job.spec))
        return with_place(wording::error_of(*never), wanted.body, services.engine.state());
    // A change that makes no more pods is possible in a namespace that has too many.
    const JobSpec& spec = wanted.body.job.spec;
    if (pods_stated(spec) <= pods_stated(wanted.before.spec)) return std::nullopt;
    return pod_quota_refusal(services, "change job " + to_string(spec.key), spec);
}

JobUpdated event_of(const Wanted& wanted) {
    JobUpdated event;
    event.key = wanted.before.spec.key;
    event.uid = wanted.before.uid;
    event.revision = wanted.body.revision;
    JobRecord job = wanted.body.job;
    if (!wanted.is_made_again()) {
        job.uid = wanted.before.uid;
        job.submitted_at = wanted.before.submitted_at;
        job.idempotency_key = wanted.before.idempotency_key;
    }
    event.change.kind = wanted.is_only_a_size() ? JobChangeKind::scale : JobChangeKind::apply;
    event.change.replicas = job.spec.service.replicas;
    event.change.record = std::move(job);
    return event;
}

aio::Task<net::HttpResponse> carry_out(Services& services, Call call, Wanted wanted) {
    if (std::optional<Error> refused = services.engine.refusal())
        co_return problem_reply(with_cause(services, *refused), call);
    const bool is_stale = wanted.body.revision != 0 && wanted.body.revision != wanted.revision_now;
    if (is_stale) {
        const JobUpdated event = event_of(wanted);
        const ChangeRefusal refused = check_change(services.engine.state(), event);
        if (!refused.is_accepted())
            co_return problem_reply(wording::error_of(event, refused), call, wanted.warnings);
    }
    if (wanted.changes.empty()) co_return json_reply(200, change_json(wanted, wanted.revision_now));
    if (std::optional<Error> refused = refusal_of(services, wanted))
        co_return problem_reply(*refused, call, wanted.warnings);
    if (wanted.body.dry_run) co_return json_reply(200, change_json(wanted, wanted.revision_now));
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    JobUpdated event = event_of(wanted);
    Result<void> done = co_await services.engine.change(std::move(event), deadline);
    if (!done) co_return problem_reply(with_cause(services, done.error()), call, wanted.warnings);
    co_return json_reply(200, change_json(wanted, wanted.revision_now + 1));
}

// The document of the job with the fields of a PATCH, as text.
Result<std::string> patched(const JobSpec& before, const nlohmann::json& body) {
    Json document = wire::encode_job(before);
    bool has_field = false;
    for (const auto& [name, value] : body.items()) {
        if (name == "resourceVersion" || name == "dryRun" || name == "recreate") continue;
        has_field = true;
        if (name == "replicas") {
            if (before.kind != JobKind::inference && before.kind != JobKind::compute)
                return make_error(
                    ErrorCode::ImmutableField,
                    "scale job " + to_string(before.key) + ": a " +
                        std::string{to_string(before.kind)} +
                        " job has no replicas; only inference and compute jobs can be scaled. "
                        "To give it other GPUs, CPU or memory, change its file and run `gpuctl "
                        "apply -f FILE --recreate`: its pods start again");
            document["service"]["replicas"] = value;
        } else if (name == "image") {
            document["environment"]["image"] = value;
        } else if (name == "priority" || name == "description" || name == "queue") {
            document["job"][name] = value;
        } else {
            return make_error(ErrorCode::BadRequest,
                              "read the body: \"" + name +
                                  "\" cannot be changed here; replicas, image, priority, "
                                  "description and queue can, other fields with `gpuctl apply`");
        }
    }
    if (!has_field)
        return make_error(ErrorCode::BadRequest,
                          "read the body: it must be {\"replicas\": number}, or have image, "
                          "priority, description or queue");
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<JobBody> read_patch(Services& services, const Call& call, const JobSpec& before,
                           std::vector<Detail>& warnings) {
    const nlohmann::json given = nlohmann::json::parse(call.request.body, nullptr, false);
    if (!given.is_object())
        return make_error(ErrorCode::InvalidJson, "read the body: it must be a JSON object");
    for (const char* const flag : {"dryRun", "recreate"}) {
        if (given.contains(flag) && !given[flag].is_boolean())
            return make_error(ErrorCode::BadRequest,
                              std::string{"read the body: "} + flag + " must be true or false");
    }
    const bool has_version = given.contains("resourceVersion");
    if (has_version && !given["resourceVersion"].is_string())
        return make_error(ErrorCode::BadRequest, "read the body: resourceVersion must be a text");
    Result<std::string> document = patched(before, given);
    if (!document) return document.error();
    JobBody body;
    body.dry_run = given.value("dryRun", false);
    body.recreate = given.value("recreate", false);
    const Result<std::uint64_t> revision =
        read_revision(has_version ? given["resourceVersion"].get<std::string>() : std::string{});
    if (!revision) return revision.error();
    body.revision = *revision;
    body.job.source = std::move(*document);
    const Result<wire::Document> parsed = wire::parse_json(body.job.source);
    if (!parsed) return parsed.error();
    wire::JobDocumentOptions options;
    options.default_namespace = before.key.namespace_name;
    options.host_path_roots = services.settings.host_path_roots;
    options.gpu_replicas = services.settings.gpu_replicas;
    options.was_accepted = true;  // none of the fields above is a variable or a label
    Result<wire::DecodedJob> decoded = wire::decode_job(*parsed, options, &warnings);
    if (!decoded) return decoded.error();
    warnings = std::move(decoded->warnings);
    body.job.spec = std::move(decoded->spec);
    body.job.submitted_at = wall_now();
    body.job.uid = aio::time_ordered_uuid(body.job.submitted_at.ms());
    return body;
}

}  // namespace

aio::Task<net::HttpResponse> apply_job(Services& services, Call call) {
    std::vector<Detail> warnings;
    Result<JobBody> body = read_job(services, call, warnings);
    if (!body) co_return problem_reply(body.error(), call, warnings);
    const ObjectKey key = body->job.spec.key;
    // "-": whatever the document names.
    if (key.name != call.parameters.at(0) && call.parameters.at(0) != "-") {
        co_return problem_reply(
            make_error(ErrorCode::BadRequest, "apply: the address names job " +
                                                  call.parameters.at(0) + ", the document job " +
                                                  key.name + "; they must be the same"),
            call);
    }
    const std::optional<JobView> there = job_to_change(services, key);
    if (!there) {
        if (body->revision != 0) {
            co_return problem_reply(
                make_error(ErrorCode::Conflict, "change job " + to_string(key) +
                                                    ": it does not exist any more; leave "
                                                    "resourceVersion out to create it"),
                call);
        }
        net::HttpResponse made = co_await store_job(services, std::move(call), std::move(*body),
                                                    std::move(warnings), std::string{});
        co_return made;
    }
    if (there->record == nullptr) co_return problem_reply(has_ended(key), call, warnings);
    Wanted wanted{*there->record, there->revision, std::move(*body), {}, std::move(warnings)};
    wanted.changes = wire::changes_between(wanted.before.spec, wanted.body.job.spec);
    net::HttpResponse response = co_await carry_out(services, std::move(call), std::move(wanted));
    co_return response;
}

aio::Task<net::HttpResponse> update_job(Services& services, Call call) {
    const Result<JobView> there =
        find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
    if (!there) co_return problem_reply(there.error(), call);
    if (!there->kind) {
        co_return problem_reply(
            make_error(ErrorCode::Conflict,
                       "change job " + to_string(there->key) +
                           ": it was not created by gpuctl; change the object that created it "
                           "(kubectl)"),
            call);
    }
    if (there->record == nullptr) co_return problem_reply(has_ended(there->key), call);
    Wanted wanted{*there->record, there->revision, {}, {}, {}};
    Result<JobBody> body = read_patch(services, call, wanted.before.spec, wanted.warnings);
    if (!body) co_return problem_reply(body.error(), call, wanted.warnings);
    wanted.body = std::move(*body);
    wanted.changes = wire::changes_between(wanted.before.spec, wanted.body.job.spec);
    net::HttpResponse response = co_await carry_out(services, std::move(call), std::move(wanted));
    co_return response;
}

}  // namespace gpuctl::api
