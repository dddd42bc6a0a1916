#include "k8s/convert/convert_workload.hpp"

#include "k8s/json/json_cursor.hpp"
#include "k8s/json/object_time.hpp"

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

void apply_condition(const Condition& condition, WorkloadFacts& facts) {
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
                if (key == "replicas" || key == "completions") {
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
            cursor.array([&] { apply_condition(read_condition(cursor), facts); });
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

std::optional<WorkloadOrigin> read_origin(std::string_view json, const LabelKeys& labels) {
    JsonCursor cursor{json};
    WorkloadOrigin origin;
    const auto read_texts = [&] {
        cursor.object([&](std::string_view name) {
            const OwnKey key = labels.recognise(name).key;
            const std::string_view value = cursor.string();
            if (key == OwnKey::job_uid) origin.job_uid = value;
            if (key == OwnKey::job_type) origin.job_type = value;
            if (key == OwnKey::source) origin.source = value;
        });
    };
    cursor.object([&](std::string_view part) {
        if (part != "metadata") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "labels" || key == "annotations") return read_texts();
            if (key == "name") {
                origin.key.name = cursor.string();
            } else if (key == "namespace") {
                origin.key.namespace_name = cursor.string();
            } else if (key == "creationTimestamp") {
                origin.created_at = parse_object_time(cursor.string());
            } else if (key == "deletionTimestamp") {
                origin.is_deleting = true;
                cursor.skip();
            } else {
                cursor.skip();
            }
        });
    });
    if (!cursor.ok() || origin.key.name.empty() || origin.job_uid.empty()) return std::nullopt;
    return origin;
}

}  // namespace gpuctl::k8s
