#include "daemon/api/policy/policy_shapes.hpp"

#include <algorithm>
#include <set>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/policy/uses.hpp"
#include "daemon/api/preflight/pod_quota.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::api {
namespace {

constexpr const char* kUnlimited = "unlimited";

const TenantRow* tenant_named(const ClusterState& state, const std::string& name) {
    for (const TenantRow& row : state.tree.tenant_rows()) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

const TenantPolicy* tenant_policy(const ClusterState& state, const std::string& name) {
    for (const TenantPolicy& tenant : state.policy().tenants) {
        if (tenant.name == name) return &tenant;
    }
    return nullptr;
}

// What the namespace holds more of than its quota allows, as a sentence; empty: nothing.
std::string excess_of_quota(const TenantRow& row) {
    std::string text;
    const auto add = [&text](const std::string& used, const std::string& hard, const char* what) {
        text += (text.empty() ? "" : ", ") + std::string{what} + " " + used + " > " + hard;
    };
    if (row.cpu_maximum && row.cpu_held > *row.cpu_maximum) {
        add(format_cpu(row.cpu_held), format_cpu(*row.cpu_maximum), "cpu");
    }
    if (row.memory_maximum && row.memory_held > *row.memory_maximum) {
        add(format_bytes(row.memory_held), format_bytes(*row.memory_maximum), "memory");
    }
    if (row.gpu_maximum && row.gpus_held > *row.gpu_maximum) {
        add(format_gpus(row.gpus_held), format_gpus(*row.gpu_maximum), "gpu");
    }
    if (text.empty()) return text;
    return "used > hard (" + text +
           "): running jobs continue, and none of the namespace starts that needs more of it";
}

Json hard_json(const TenantPolicy& of, const Policy& policy) {
    const auto gpus = of.gpu_maximum ? of.gpu_maximum : policy.default_tenant_gpu_maximum;
    return {{"cpu", of.cpu_maximum ? format_cpu(*of.cpu_maximum) : kUnlimited},
            {"memory", of.memory_maximum ? format_bytes(*of.memory_maximum) : kUnlimited},
            {"gpu", gpus ? format_gpus(*gpus) : kUnlimited},
            {"pods", kUnlimited}};
}

std::string source_of_namespace(const PolicyLayers& layers, const ClusterState& state,
                                const std::string& name) {
    const PolicyKey key{PolicyKind::name_space, name};
    const std::string source = layers.source_of(key);
    if (!source.empty()) return source;
    return is_used_namespace(state, name) ? "use" : "";
}

}  // namespace

void add_pool_object(const PolicyLayers& layers, const std::string& name, Json& body) {
    const PolicyObject* object = layers.find({PolicyKind::pool, name});
    const std::string source = layers.source_of({PolicyKind::pool, name});
    body["source"] = source.empty() ? "nodes" : source;
    body["quota"] = nullptr;
    if (object == nullptr) return;
    const Result<config::PoolObject> pool = config::pool_in(object->document);
    body["createdAt"] = format_time(object->created_at);
    if (!pool) return;
    if (pool->jobs_maximum || pool->gpus_per_job_maximum) {
        body["quota"] = {
            {"maxJobs", pool->jobs_maximum ? Json(*pool->jobs_maximum) : Json{}},
            {"maxGpuPerJob",
             pool->gpus_per_job_maximum ? gpus_json(*pool->gpus_per_job_maximum) : Json{}}};
    }
    if (!pool->gpu_types.empty()) body["gpuTypesWanted"] = pool->gpu_types;
    body["namedNodes"] = Json::array();
    for (const auto& [node, type] : pool->nodes) body["namedNodes"].push_back(node);
}

void add_queue_object(const PolicyLayers& layers, Json& body) {
    const std::string name =
        body.value("pool", std::string{}) + "/" + body.value("name", std::string{});
    const std::string source = layers.source_of({PolicyKind::queue, name});
    body["source"] = source.empty() ? "file" : source;  // "default" exists in every pool
}

Json quota_json(const Services& services, const std::string& namespace_name) {
    const ClusterState& state = services.engine.state();
    const PolicyKey key{PolicyKind::quota, namespace_name};
    const std::string source = services.policy->source_of(key);
    if (source.empty()) return nullptr;
    Json body;
    body["name"] = namespace_name;
    body["namespace"] = namespace_name;
    body["description"] = "";
    body["source"] = source;
    TenantPolicy hard;
    std::optional<std::int64_t> pods;
    if (const TenantPolicy* known = tenant_policy(state, namespace_name)) hard = *known;
    if (const PolicyObject* object = services.policy->find(key)) {
        if (const auto quota = config::quota_in(object->document)) {
            body["name"] = quota->name;
            body["description"] = quota->description;
            pods = quota->pods;
        }
        body["createdAt"] = format_time(object->created_at);
    }
    body["hard"] = hard_json(hard, state.policy());
    const TenantRow* row = tenant_named(state, namespace_name);
    const TenantRow none;
    const TenantRow& held = row == nullptr ? none : *row;
    body["used"] = {{"cpu", format_cpu(held.cpu_held)},
                    {"memory", format_bytes(held.memory_held)},
                    {"gpu", format_gpus(held.gpus_held)}};
    if (pods) {
        body["hard"]["pods"] = std::to_string(*pods);
        body["used"]["pods"] = std::to_string(pods_of_namespace(state, namespace_name, {}));
    }
    body["status"] = "Active";
    body["note"] = excess_of_quota(held);
    return body;
}

std::vector<std::string> quota_names(const Services& services) {
    std::set<std::string> names;
    for (const auto& [key, object] : services.policy->objects()) {
        if (key.kind == PolicyKind::quota) names.insert(key.name);
    }
    for (const auto& [key, place] : services.policy->file().places) {
        if (key.kind == PolicyKind::quota) names.insert(key.name);
    }
    return {names.begin(), names.end()};
}

Json namespace_json(const Services& services, const std::string& name, Instant now) {
    const ClusterState& state = services.engine.state();
    const std::string source = source_of_namespace(*services.policy, state, name);
    if (source.empty()) return nullptr;
    const PolicyObject* object = services.policy->find({PolicyKind::name_space, name});
    const Instant made = object == nullptr ? Instant{} : object->created_at;
    Json body;
    body["name"] = name;
    body["status"] = "Active";
    body["age"] = format_age(made, now);
    if (made.happened()) body["createdAt"] = format_time(made);
    body["source"] = source;
    body["managed"] = object != nullptr;
    return body;
}

std::vector<std::string> namespace_names(const Services& services) {
    std::set<std::string> names;
    for (const auto& [key, object] : services.policy->objects()) {
        if (key.kind == PolicyKind::name_space) names.insert(key.name);
    }
    for (const auto& [key, place] : services.policy->file().places) {
        if (key.kind == PolicyKind::name_space) names.insert(key.name);
    }
    for (std::string& name : used_namespaces(services.engine.state())) {
        names.insert(std::move(name));
    }
    return {names.begin(), names.end()};
}

Json outcome_json(const Services& services, const PolicyOutcome& outcome, bool dry_run) {
    const std::string what = config::in_words(outcome.key);
    const std::string action = outcome.action;
    Json body;
    body["kind"] = config::to_string(outcome.key.kind);
    body["name"] = outcome.key.name;
    if (outcome.key.kind == PolicyKind::queue) {
        const std::size_t slash = outcome.key.name.find('/');
        body["pool"] = outcome.key.name.substr(0, slash);
        body["name"] = outcome.key.name.substr(slash + 1);
    }
    std::string note;
    if (outcome.key.kind == PolicyKind::quota) {
        body["namespace"] = outcome.key.name;
        if (const auto quota = config::quota_in(outcome.document)) {
            body["name"] = quota->name;
            body["cpu"] = quota->cpu ? format_cpu(*quota->cpu) : kUnlimited;
            body["memory"] = quota->memory ? format_bytes(*quota->memory) : kUnlimited;
            body["gpu"] = quota->gpus ? format_gpus(*quota->gpus) : kUnlimited;
            body["pods"] = quota->pods ? std::to_string(*quota->pods) : kUnlimited;
        }
        const TenantRow* row = tenant_named(services.engine.state(), outcome.key.name);
        if (row != nullptr && !dry_run && !outcome.document.empty()) note = excess_of_quota(*row);
    }
    body["status"] = action;
    body["action"] = action == "created" ? "create" : action == "updated" ? "update" : action;
    body["message"] =
        (dry_run ? what + " would be " : what + " ") + action + (note.empty() ? "" : "; " + note);
    return body;
}

}  // namespace gpuctl::api
