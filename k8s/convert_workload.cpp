#include "k8s/convert_workload.hpp"

#include "k8s/json_cursor.hpp"

namespace gpuctl::k8s {

namespace {

struct Condition {
    std::string_view type;
    std::string_view status;
    std::string reason;
    std::string message;
};

Condition read_condition(JsonCursor& cursor) {
    Condition condition;
    cursor.object([&](std::string_view key) {
        if (key == "type") {
            condition.type = cursor.string();
        } else if (key == "status") {
            condition.status = cursor.string();
        } else if (key == "reason") {
            condition.reason = cursor.string();
        } else if (key == "message") {
            condition.message = cursor.string();
        } else {
            cursor.skip();
        }
    });
    return condition;
}

void take(const Condition& condition, WorkloadFacts& facts) {
    if (condition.status != "True") return;
    if (condition.type == "Complete") {
        facts.phase = WorkloadPhase::complete;
    } else if (condition.type == "Failed") {
        facts.phase = WorkloadPhase::failed;
        facts.message = condition.reason + ": " + condition.message;
    } else if (condition.type == "ReplicaFailure") {
        facts.message = condition.reason + ": " + condition.message;
    }
}

void read_metadata(JsonCursor& cursor, const LabelKeys& labels, WorkloadFacts& facts) {
    cursor.object([&](std::string_view key) {
        if (key == "name") {
            facts.key.name = cursor.string();
        } else if (key == "namespace") {
            facts.key.namespace_name = cursor.string();
        } else if (key == "labels") {
            cursor.object([&](std::string_view label) {
                const std::string_view value = cursor.string();
                if (labels.recognise(label).key == OwnKey::job_uid) facts.job_uid = value;
            });
        } else {
            cursor.skip();
        }
    });
}

}  // namespace

Result<WorkloadFacts> read_workload(std::string_view json, const LabelKeys& labels) {
    JsonCursor cursor{json};
    WorkloadFacts facts;
    bool suspended = false;
    cursor.object([&](std::string_view part) {
        if (part == "metadata") return read_metadata(cursor, labels, facts);
        if (part == "spec") {
            return cursor.object([&](std::string_view key) {
                if (key == "replicas") {
                    facts.replicas = cursor.integer();
                } else if (key == "suspend") {
                    suspended = cursor.boolean();
                } else {
                    cursor.skip();
                }
            });
        }
        if (part != "status") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key != "conditions") return cursor.skip();
            cursor.array([&] { take(read_condition(cursor), facts); });
        });
    });
    if (!cursor.ok() || facts.key.name.empty()) {
        return make_error(ErrorCode::InvalidJson,
                          "a workload from the API server cannot be read: it is cut, malformed, or "
                          "has no name");
    }
    if (suspended && facts.phase == WorkloadPhase::active) facts.phase = WorkloadPhase::suspended;
    return facts;
}

}  // namespace gpuctl::k8s
