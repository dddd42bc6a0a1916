// Making, changing and deleting pools, quotas, queues and namespaces, and the lists that only they
// have.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/job_body.hpp"
#include "daemon/api/policy/policy_body.hpp"
#include "daemon/api/policy/policy_shapes.hpp"
#include "daemon/api/policy/uses.hpp"

namespace gpuctl::api {
namespace {

// More jobs are not deleted with their namespace.
constexpr std::size_t kJobsDeletedMax = 1'000;

using Outcomes = Result<std::vector<PolicyOutcome>>;

aio::Task<Outcomes> change_policy(Services& services, PolicyRequest request) {
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Outcomes outcomes = co_await services.policy->change(std::move(request), deadline);
    if (!outcomes) co_return with_cause(services, outcomes.error());
    co_return outcomes;
}

Json results_json(const Services& services, const std::vector<PolicyOutcome>& outcomes,
                  bool dry_run) {
    Json results = Json::array();
    for (const PolicyOutcome& one : outcomes) {
        results.push_back(outcome_json(services, one, dry_run));
    }
    return results;
}

// The outcome of one object, and below `results` those of all.
net::HttpResponse changed_reply(Services& services, const std::vector<PolicyOutcome>& outcomes,
                                bool dry_run, const std::vector<Detail>& warnings, int status) {
    Json body =
        outcomes.empty() ? Json::object() : outcome_json(services, outcomes.front(), dry_run);
    body["results"] = results_json(services, outcomes, dry_run);
    body["warnings"] = warnings_json(warnings);
    if (dry_run) body["dryRun"] = true;
    return json_reply(dry_run ? 200 : status, body);
}

aio::Task<net::HttpResponse> create_of_kind(Services& services, Call call, PolicyKind kind) {
    Result<PolicyBody> body = read_policy_body(call, kind);
    if (!body) co_return problem_reply(body.error(), call);
    PolicyRequest request;
    request.put = std::move(body->drafts);
    request.dry_run = body->dry_run;
    Outcomes outcomes = co_await change_policy(services, std::move(request));
    if (!outcomes) co_return problem_reply(outcomes.error(), call, body->warnings);
    net::HttpResponse reply =
        changed_reply(services, *outcomes, body->dry_run, body->warnings, 201);
    if (kind != PolicyKind::quota) co_return reply;
    Json whole = Json::parse(reply.body);
    whole["created"] = Json::array();
    for (const Json& one : whole["results"]) {
        if (one.contains("namespace")) whole["created"].push_back(one);
    }
    co_return json_reply(reply.status, whole);
}

aio::Task<net::HttpResponse> change_of_key(Services& services, Call call, PolicyKey key) {
    const PolicyObject* known = services.policy->find(key);
    PolicyRequest request;
    request.mode = PutMode::update;
    std::vector<Detail> warnings;
    if (known == nullptr) {
        request.put.push_back({key, ""});  // refused: not found, or of the file
    } else {
        Result<PolicyBody> body = read_policy_change(call, *known);
        if (!body) co_return problem_reply(body.error(), call);
        request.put = std::move(body->drafts);
        request.dry_run = body->dry_run;
        request.version = known->version;
        warnings = std::move(body->warnings);
    }
    const bool dry_run = request.dry_run;
    Outcomes outcomes = co_await change_policy(services, std::move(request));
    if (!outcomes) co_return problem_reply(outcomes.error(), call, warnings);
    co_return changed_reply(services, *outcomes, dry_run, warnings, 200);
}

aio::Task<net::HttpResponse> delete_of_keys(Services& services, Call call,
                                            std::vector<PolicyKey> keys) {
    const Result<bool> force = flag_of(call, "force");
    if (!force) co_return problem_reply(force.error(), call);
    PolicyRequest request;
    request.gone = std::move(keys);
    request.force = *force;
    Outcomes outcomes = co_await change_policy(services, std::move(request));
    if (!outcomes) co_return problem_reply(outcomes.error(), call);
    co_return changed_reply(services, *outcomes, false, {}, 200);
}

// The namespaces whose quota has this name; else the namespace of this name.
std::vector<PolicyKey> keys_of_quota(const PolicyLayers& layers, const std::string& name) {
    std::vector<PolicyKey> keys;
    for (const auto& [key, object] : layers.objects()) {
        if (key.kind != PolicyKind::quota) continue;
        const Result<config::QuotaObject> quota = config::quota_in(object.document);
        if (quota && quota->name == name) keys.push_back(key);
    }
    if (keys.empty()) keys.push_back({PolicyKind::quota, name});
    return keys;
}

PolicyKey queue_key(const Call& call) {
    const std::string_view pool = call.query("pool");
    return {PolicyKind::queue, (pool.empty() ? std::string{kDefaultPool} : std::string{pool}) +
                                   "/" + call.parameters.at(0)};
}

net::HttpResponse queue_reply(Services& services, const QueueView& queue) {
    Json body = queue_json(queue);
    add_queue_object(*services.policy, body);
    return json_reply(200, body);
}

net::HttpResponse no_quota(const Call& call, const std::string& name) {
    return problem_reply(not_found({PolicyKind::quota, name}), call);
}

}  // namespace

aio::Task<net::HttpResponse> create_pool(Services& services, Call call) {
    net::HttpResponse reply = co_await create_of_kind(services, std::move(call), PolicyKind::pool);
    co_return reply;
}
aio::Task<net::HttpResponse> create_quota(Services& services, Call call) {
    net::HttpResponse reply = co_await create_of_kind(services, std::move(call), PolicyKind::quota);
    co_return reply;
}
aio::Task<net::HttpResponse> create_queue(Services& services, Call call) {
    net::HttpResponse reply = co_await create_of_kind(services, std::move(call), PolicyKind::queue);
    co_return reply;
}
aio::Task<net::HttpResponse> create_namespace(Services& services, Call call) {
    net::HttpResponse reply =
        co_await create_of_kind(services, std::move(call), PolicyKind::name_space);
    co_return reply;
}

aio::Task<net::HttpResponse> change_pool(Services& services, Call call) {
    PolicyKey key{PolicyKind::pool, call.parameters.at(0)};
    net::HttpResponse reply = co_await change_of_key(services, std::move(call), std::move(key));
    co_return reply;
}
aio::Task<net::HttpResponse> change_quota(Services& services, Call call) {
    PolicyKey key{PolicyKind::quota, call.parameters.at(0)};
    net::HttpResponse reply = co_await change_of_key(services, std::move(call), std::move(key));
    co_return reply;
}
aio::Task<net::HttpResponse> change_queue(Services& services, Call call) {
    PolicyKey key = queue_key(call);
    net::HttpResponse reply = co_await change_of_key(services, std::move(call), std::move(key));
    co_return reply;
}

aio::Task<net::HttpResponse> delete_pool(Services& services, Call call) {
    std::vector<PolicyKey> keys;
    keys.push_back({PolicyKind::pool, call.parameters.at(0)});
    net::HttpResponse reply = co_await delete_of_keys(services, std::move(call), std::move(keys));
    co_return reply;
}
aio::Task<net::HttpResponse> delete_queue(Services& services, Call call) {
    std::vector<PolicyKey> keys;
    keys.push_back(queue_key(call));
    net::HttpResponse reply = co_await delete_of_keys(services, std::move(call), std::move(keys));
    co_return reply;
}
aio::Task<net::HttpResponse> delete_quota(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    std::vector<PolicyKey> keys = keys_of_quota(*services.policy, name);
    net::HttpResponse reply = co_await delete_of_keys(services, std::move(call), std::move(keys));
    if (reply.status != 200) co_return reply;
    Json body = Json::parse(reply.body);
    body["jobId"] = name;
    body["deleted"] = Json::array();
    for (const Json& one : body["results"]) {
        body["deleted"].push_back({{"namespace", one.value("namespace", "")}});
    }
    body["failed"] = Json::array();
    if (body["deleted"].size() > 1) {
        std::string names;
        for (const Json& one : body["deleted"]) {
            names += (names.empty() ? "" : ", ") + one.value("namespace", "");
        }
        body["message"] = "the quotas of namespaces " + names + " deleted";
    }
    co_return json_reply(200, body);
}

// With its quota and its jobs, as a cluster does.
aio::Task<net::HttpResponse> delete_namespace(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    PolicyRequest check;
    check.gone.push_back({PolicyKind::name_space, name});
    check.dry_run = true;
    Outcomes possible = co_await change_policy(services, std::move(check));
    if (!possible) co_return problem_reply(possible.error(), call);
    const std::vector<ObjectKey> jobs = own_jobs_in(services.engine.state(), name);
    if (jobs.size() > kJobsDeletedMax) {
        co_return problem_reply(
            make_error(ErrorCode::Conflict,
                       "delete namespace " + name + ": it has " + std::to_string(jobs.size()) +
                           " jobs, more than the " + std::to_string(kJobsDeletedMax) +
                           " that are deleted with it; delete jobs first"),
            call);
    }
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    for (const ObjectKey& job : jobs) {
        Result<void> removed = co_await services.engine.remove(job, false, deadline);
        if (!removed) co_return problem_reply(with_cause(services, removed.error()), call);
    }
    std::vector<PolicyKey> keys;
    keys.push_back({PolicyKind::name_space, name});
    net::HttpResponse reply = co_await delete_of_keys(services, std::move(call), std::move(keys));
    if (reply.status != 200) co_return reply;
    Json body = Json::parse(reply.body);
    body["name"] = name;
    body["message"] = "namespace " + name + " deleted" +
                      (jobs.empty() ? std::string{}
                                    : ", and with it " + std::to_string(jobs.size()) +
                                          (jobs.size() == 1 ? " job" : " jobs"));
    body["jobsDeleted"] = jobs.size();
    co_return json_reply(200, body);
}

net::HttpResponse list_quotas_page(Services& services, const Call& call) {
    if (const std::string name{call.query("namespace")}; !name.empty()) {
        const Json quota = quota_json(services, name);
        return quota.is_null() ? no_quota(call, name) : json_reply(200, quota);
    }
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    std::vector<Json> rows;
    for (const std::string& name : quota_names(services)) {
        rows.push_back(quota_json(services, name));
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

net::HttpResponse get_quota(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    const std::vector<PolicyKey> keys = keys_of_quota(*services.policy, name);
    const Json quota = quota_json(services, keys.front().name);
    return quota.is_null() ? no_quota(call, name) : json_reply(200, quota);
}

net::HttpResponse get_queue(Services& services, const Call& call) {
    const PolicyKey key = queue_key(call);
    const bool is_of_any_pool = call.query("pool").empty();
    std::vector<const QueueView*> others;  // of that name, in pools that were not asked for
    const auto queues = list_queues(services.engine.listing());
    for (const QueueView& queue : queues) {
        if (queue.name != call.parameters.at(0)) continue;
        if (queue.pool + "/" + queue.name == key.name) return queue_reply(services, queue);
        others.push_back(&queue);
    }
    // A name that only one pool has needs no pool.
    if (is_of_any_pool && others.size() == 1) return queue_reply(services, *others.front());
    Error missing = not_found(key);
    std::string pools;
    for (const QueueView* queue : others) pools += (pools.empty() ? "" : ", ") + queue->pool;
    if (!pools.empty()) {
        missing.message += "; other pools have a queue of that name: " + pools +
                           " (name one with --pool, or POOL/NAME)";
    }
    return problem_reply(missing, call);
}

net::HttpResponse list_namespaces_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const Instant now = wall_now();
    std::vector<Json> rows;
    for (const std::string& name : namespace_names(services)) {
        rows.push_back(namespace_json(services, name, now));
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

net::HttpResponse get_namespace(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    Json body = namespace_json(services, name, wall_now());
    if (body.is_null()) return problem_reply(not_found({PolicyKind::name_space, name}), call);
    body["labels"] = Json::object();
    if (body["managed"] == true) {
        body["labels"][services.settings.label_prefix + "/namespace"] = "true";
    }
    body["quota"] = quota_json(services, name);
    return json_reply(200, body);
}

// Documents of several kinds, all or none.
aio::Task<net::HttpResponse> change_documents(Services& services, Call call) {
    const std::string mode{call.query("mode")};
    PolicyRequest request;
    std::vector<Detail> warnings;
    if (mode == "delete") {
        Result<PolicyBody> body = read_policy_keys(call);
        if (!body) co_return problem_reply(body.error(), call);
        const Result<bool> force = flag_of(call, "force");
        if (!force) co_return problem_reply(force.error(), call);
        const Result<bool> dry_run = flag_of(call, "dryRun");
        if (!dry_run) co_return problem_reply(dry_run.error(), call);
        request.gone = std::move(body->keys);
        request.force = *force;
        request.dry_run = *dry_run;
    } else if (mode == "create" || mode == "apply") {
        Result<PolicyBody> body = read_policy_body(call);
        if (!body) co_return problem_reply(body.error(), call);
        request.mode = mode == "create" ? PutMode::create : PutMode::apply;
        request.put = std::move(body->drafts);
        request.dry_run = body->dry_run;
        warnings = std::move(body->warnings);
    } else {
        co_return problem_reply(
            make_error(ErrorCode::BadRequest, "mode=" + mode + ": must be create, apply or delete"),
            call);
    }
    const bool dry_run = request.dry_run;
    Outcomes outcomes = co_await change_policy(services, std::move(request));
    if (!outcomes) co_return problem_reply(outcomes.error(), call, warnings);
    Json reply;
    reply["results"] = results_json(services, *outcomes, dry_run);
    reply["warnings"] = warnings_json(warnings);
    if (dry_run) reply["dryRun"] = true;
    co_return json_reply(200, reply);
}

}  // namespace gpuctl::api
