#pragma once
// A Job, Deployment or StatefulSet that we made, as facts for the engine.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/json/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/job/workload.hpp"

namespace gpuctl::k8s {

// One reader for all three: a Job has spec.suspend and conditions Complete, Failed and Suspended,
// the other kinds spec.replicas, a Deployment the condition ReplicaFailure. An empty job_uid: not
// made by us.
Result<WorkloadFacts> read_workload(std::string_view json, const LabelKeys& labels);

// The job that such an object was made for, from its labels and annotations.
struct WorkloadOrigin {
    ObjectKey key;
    std::string job_uid;
    std::string job_type;  // training, inference, ...
    std::string source;    // the document it was made of; empty: too large to be stored
    Instant created_at;
    bool is_deleting = false;  // deleted, and not removed yet
};
std::optional<WorkloadOrigin> read_origin(std::string_view json, const LabelKeys& labels);

// The job that a workload was made for, from the document stored with it; nullopt: the document
// cannot be read any more.
using ReadSpec = std::function<std::optional<JobSpec>(const WorkloadOrigin&)>;

}  // namespace gpuctl::k8s
