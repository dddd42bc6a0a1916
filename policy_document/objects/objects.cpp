#include "policy_document/objects/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy_document/objects/object_readers.hpp"
#include "policy_document/refusal.hpp"
#include "scheduler/base/ascii.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::config {
namespace {

using nlohmann::json;

Error not_valid(std::vector<Detail> details, PolicyKind kind) {
    name_keys(details);
    const Detail first = details.front();
    std::string message = "the " + std::string{to_string(kind)} + " document: ";
    if (first.place.line > 0) {
        message += "line " + std::to_string(first.place.line) + ", column " +
                   std::to_string(first.place.column) + ": ";
    }
    message += first.message;
    if (details.size() > 1) message += " (and " + std::to_string(details.size() - 1) + " more)";
    return Error{ErrorCode::ValidationFailed, std::move(message), std::move(details)};
}

template <typename Object>
Result<Object> only_one(const std::string& text, PolicyKind kind,
                        std::vector<Object> (*read)(const ObjectSource&)) {
    const Result<wire::Document> document = wire::parse_json(text);
    if (!document) return document.error();
    wire::Problems problems;
    const ObjectSource source{*document, problems, false};
    std::vector<Object> objects = read(source);
    if (!problems.errors.empty()) return not_valid(std::move(problems.errors), kind);
    if (objects.size() != 1) {
        return make_error(ErrorCode::Internal, "a stored object of the policy is not one");
    }
    return std::move(objects.front());
}

std::vector<ObjectDraft> drafts_of(const ObjectSource& source, PolicyKind kind) {
    std::vector<ObjectDraft> drafts;
    const auto add = [&](const std::string& name, const nlohmann::ordered_json& document) {
        drafts.push_back({{kind, name}, document.dump()});
    };
    switch (kind) {
        case PolicyKind::pool:
            for (const PoolObject& one : read_pools(source)) add(one.name, to_json(one));
            break;
        case PolicyKind::quota:
            for (const QuotaObject& one : read_quotas(source)) {
                add(one.namespace_name, to_json(one));
            }
            break;
        case PolicyKind::queue:
            for (const QueueObject& one : read_queues(source)) {
                add(one.pool + "/" + one.queue.name, queue_json(source, one));
            }
            break;
        case PolicyKind::name_space:
            for (const NamespaceObject& one : read_namespaces(source)) add(one.name, to_json(one));
            break;
    }
    return drafts;
}

}  // namespace

std::string_view to_string(PolicyKind kind) {
    constexpr std::string_view names[] = {"pool", "quota", "queue", "namespace"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<PolicyKind> policy_kind_of(std::string_view word) {
    const std::string kind = lower_case(std::string{word});
    if (kind == "pool" || kind == "resource") return PolicyKind::pool;
    if (kind == "quota") return PolicyKind::quota;
    if (kind == "queue") return PolicyKind::queue;
    if (kind == "namespace" || kind == "ns") return PolicyKind::name_space;
    return std::nullopt;
}

std::optional<PolicyKind> policy_kind_of(const wire::Document& document) {
    if (!document.root.is_object() || document.root.contains("apiVersion")) return std::nullopt;
    const auto kind = document.root.find("kind");
    if (kind == document.root.end() || !kind->is_string()) return std::nullopt;
    return policy_kind_of(kind->get<std::string>());
}

ObjectDraft draft_of(const PoolObject& pool) {
    return {{PolicyKind::pool, pool.name}, to_json(pool).dump()};
}

Result<ObjectReading> read_objects(const wire::Document& document, PolicyKind kind, bool strict) {
    wire::Problems problems;
    const ObjectSource source{document, problems, strict};
    ObjectReading reading;
    reading.drafts = drafts_of(source, kind);
    problems.sort();
    if (!problems.errors.empty()) return not_valid(std::move(problems.errors), kind);
    reading.warnings = std::move(problems.warnings);
    return reading;
}

Result<std::vector<PolicyKey>> keys_in(const wire::Document& document, PolicyKind kind) {
    wire::Problems ignored;
    std::vector<PolicyKey> keys;
    for (const ObjectDraft& draft : drafts_of({document, ignored, false}, kind)) {
        if (!draft.key.name.empty()) keys.push_back(draft.key);
    }
    if (!keys.empty()) return keys;
    return make_error(ErrorCode::ValidationFailed,
                      "the " + std::string{to_string(kind)} + " document names no " +
                          (kind == PolicyKind::quota ? "namespace" : std::string{to_string(kind)}));
}

bool says_the_same(const std::string& a, const std::string& b) {
    return a == b || json::parse(a, nullptr, false) == json::parse(b, nullptr, false);
}

Result<PoolObject> pool_in(const std::string& document) {
    return only_one(document, PolicyKind::pool, read_pools);
}
Result<QuotaObject> quota_in(const std::string& document) {
    return only_one(document, PolicyKind::quota, read_quotas);
}
Result<QueueObject> queue_in(const std::string& document) {
    return only_one(document, PolicyKind::queue, read_queues);
}
Result<NamespaceObject> namespace_in(const std::string& document) {
    return only_one(document, PolicyKind::name_space, read_namespaces);
}

}  // namespace gpuctl::config
