#include "k8s/policy/policy_status.hpp"

#include <algorithm>
#include <utility>

#include "aio/loop.hpp"
#include "k8s/json/object_time.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

constexpr std::size_t kNodesShown = 10;
constexpr std::size_t kMessageBytesMax = 1'024;

struct StatusCondition {
    const char* type;
    bool is_true = false;
    std::string reason;
    std::string message;
};

json gpu_number(GpuMilli gpus) {
    if (gpus.value() % 1'000 == 0) return gpus.value() / 1'000;
    return static_cast<double>(gpus.value()) / 1'000;
}

std::string counted(std::int64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string list_of_nodes(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNodesShown); ++i) {
        text += (i == 0 ? "" : ", ") + names[i];
    }
    if (names.size() > kNodesShown) {
        text += " and " + std::to_string(names.size() - kNodesShown) + " more";
    }
    return text;
}

StatusCondition accepted_of(const WatchedPolicyObject& object,
                            const ports::PolicyObjectStatus* report) {
    StatusCondition accepted{"Accepted", false, "Invalid", object.reading.problem};
    if (!object.reading.problem.empty()) return accepted;
    if (!object.hidden_by.empty()) {
        return {"Accepted", false, "Conflict",
                object.hidden_by + " is older and describes the same; delete one of them"};
    }
    if (report != nullptr && !report->is_used) {
        return {"Accepted", false, report->problem_code, report->problem};
    }
    return {"Accepted", true, "Accepted", "gpuctld uses it"};
}

StatusCondition ready_of(PolicyKind kind, const StatusCondition& accepted,
                         const ports::PolicyObjectStatus* report) {
    StatusCondition ready{"Ready", false, "NotAccepted", "it is not used: see Accepted"};
    if (!accepted.is_true || report == nullptr) return ready;
    if (!report->problem.empty()) return {"Ready", false, report->problem_code, report->problem};
    if (kind != PolicyKind::pool) return {"Ready", true, "Ready", "jobs can use it"};
    if (!report->nodes_gone.empty()) {
        return {"Ready", false, "NodeNotFound",
                "the cluster has no node " + list_of_nodes(report->nodes_gone) +
                    "; it joins the pool when it appears"};
    }
    if (report->nodes == 0) {
        return {"Ready", false, "PoolEmpty", "it has no nodes: jobs of this pool wait"};
    }
    return {"Ready", true, "Ready", counted(report->nodes, "node")};
}

json condition_json(const StatusCondition& condition, const json& stored, std::int64_t generation,
                    Instant now) {
    json made{{"type", condition.type},
              {"status", condition.is_true ? "True" : "False"},
              {"reason", condition.reason},
              {"message", condition.message.substr(0, kMessageBytesMax)},
              {"observedGeneration", generation},
              {"lastTransitionTime", format_object_time(now)}};
    for (const json& one : stored) {
        const bool is_same = one.is_object() && one.value("type", "") == condition.type &&
                             one.value("status", "") == (condition.is_true ? "True" : "False");
        if (is_same && one.contains("lastTransitionTime")) {
            made["lastTransitionTime"] = one["lastTransitionTime"];
        }
    }
    return made;
}

json stored_conditions(const json& status) {
    if (!status.is_object()) return json::array();
    const auto found = status.find("conditions");
    return found == status.end() || !found->is_array() ? json::array() : json(*found);
}

json without_times(json status) {
    if (!status.is_object() || !status.contains("conditions")) return status;
    for (json& one : status["conditions"]) {
        if (one.is_object()) one.erase("lastTransitionTime");
    }
    return status;
}

}  // namespace

json policy_status(PolicyKind kind, const WatchedPolicyObject& object,
                   const ports::PolicyObjectStatus* report, Instant now) {
    const StatusCondition accepted = accepted_of(object, report);
    if (accepted.is_true && report == nullptr) return nullptr;
    const StatusCondition ready = ready_of(kind, accepted, report);
    const json stored = stored_conditions(object.reading.status);
    const std::int64_t generation = object.reading.generation;
    json conditions = json::array();
    for (const StatusCondition& one : {accepted, ready}) {
        conditions.push_back(condition_json(one, stored, generation, now));
    }
    for (const json& other : stored) {  // of other clients
        const std::string type = other.is_object() ? other.value("type", "") : "";
        if (type != "Accepted" && type != "Ready") conditions.push_back(other);
    }
    json status{{"observedGeneration", generation}, {"conditions", std::move(conditions)}};
    status["phase"] = !accepted.is_true ? "NotUsed" : (ready.is_true ? "Ready" : "NotReady");
    if (kind != PolicyKind::pool || report == nullptr) return status;
    status["nodes"] = report->nodes;
    status["totalCapacity"] = gpu_number(report->gpus);
    status["allocatedCapacity"] = gpu_number(report->gpus_used);
    const std::int64_t available =
        std::max<std::int64_t>(0, report->gpus.value() - report->gpus_used.value());
    status["availableCapacity"] = gpu_number(GpuMilli{available});
    return status;
}

bool is_same_status(const json& a, const json& b) { return without_times(a) == without_times(b); }

bool are_same_conditions(const json& a, const json& b) {
    return without_times(json{{"conditions", stored_conditions(a)}}) ==
           without_times(json{{"conditions", stored_conditions(b)}});
}

void PolicyStatusWriter::report(std::vector<ports::PolicyObjectStatus> all) {
    reports_.clear();
    for (ports::PolicyObjectStatus& one : all) {
        const std::string uid = one.uid;
        reports_.insert_or_assign(uid, std::move(one));
    }
    std::erase_if(written_at_, [this](const auto& one) { return !reports_.contains(one.first); });
    look();
}

PolicyStatusWriter::Time PolicyStatusWriter::next_at(Time) const {
    return std::max(look_at_, bucket_.ready_at());
}

std::optional<PolicyStatusWriter::Open> PolicyStatusWriter::open_of(
    PolicyKind kind, const WatchedPolicyObject& object, Time now) {
    if (object.reading.is_deleting) return std::nullopt;
    const auto report = reports_.find(object.identity.uid);
    const bool is_reported = report != reports_.end();
    // A report about what it said before is not about this generation.
    if (is_reported && report->second.version < object.said_since) return std::nullopt;
    json status = policy_status(kind, object, is_reported ? &report->second : nullptr,
                                Instant{aio::Loop::wall_ms()});
    if (status.is_null() || is_same_status(status, object.reading.status)) return std::nullopt;
    const auto written = written_at_.find(object.identity.uid);
    if (written != written_at_.end()) {
        const bool same = are_same_conditions(status, object.reading.status);
        const Time due =
            written->second + (same ? settings_.figures_every : settings_.conditions_every);
        look_at_ = std::min(look_at_, std::max(due, now));
        if (due > now) return std::nullopt;
    }
    return Open{&object, kind, std::move(status)};
}

std::optional<PolicyStatusWriter::Open> PolicyStatusWriter::next_open(Time now) {
    look_at_ = Time::max();
    for (const PolicyKind kind : {PolicyKind::pool, PolicyKind::queue}) {
        const PolicyFeed* feed = feed_of_(kind);
        if (feed == nullptr) continue;
        for (const auto& [uid, object] : feed->all()) {
            std::optional<Open> open = open_of(kind, object, now);
            if (open) return open;
        }
    }
    return std::nullopt;
}

aio::Task<void> PolicyStatusWriter::write_next(Time now, Epoch epoch) {
    if (!bucket_.take_token(now)) co_return;
    std::optional<Open> open = next_open(now);
    if (!open) co_return;
    look_at_ = now;  // there may be more
    const ObjectIdentity identity = open->object->identity;
    written_at_[identity.uid] = now;
    json patch;
    patch["metadata"]["uid"] = identity.uid;
    patch["metadata"]["resourceVersion"] = identity.resource_version;
    patch["status"] = std::move(open->status);
    ApiCall call;
    call.method = "PATCH";
    call.path = policy_path(open->kind) + "/" + net::percent_encode(identity.name) +
                "/status?fieldManager=gpuctl-status";
    call.body = patch.dump(-1, ' ', false, json::error_handler_t::replace);
    call.content_type = kMergePatch;
    call.fenced_by = epoch;
    call.retry = RetryClass::keyed;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    // After a conflict the watch shows another version, and it is looked at again.
    (void)co_await client_.call(std::move(call), deadline);
}

}  // namespace gpuctl::k8s
