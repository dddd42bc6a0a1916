#pragma once
// A Job, Deployment or StatefulSet that we made, as the engine wants to know of it.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/workload.hpp"

namespace gpuctl::k8s {

// One reader for all three: a Job has spec.suspend and conditions Complete, Failed and Suspended,
// the others spec.replicas, a Deployment the condition ReplicaFailure. An empty job_uid: not of
// ours.
Result<WorkloadFacts> read_workload(std::string_view json, const LabelKeys& labels);

// What such an object says of the job it was made for.
struct WorkloadOrigin {
    ObjectKey key;
    std::string job_uid;
    std::string job_type;  // training, inference, ...
    std::string source;    // the document it was made of; empty: too large to be kept
    Instant created_at;
    bool leaving = false;  // deleted, and not gone yet
};
std::optional<WorkloadOrigin> read_origin(std::string_view json, const LabelKeys& labels);

// The job that a workload was made for, from the document that is kept with it; nullopt: it cannot
// be read any more.
using ReadSpec = std::function<std::optional<JobSpec>(const WorkloadOrigin&)>;

}  // namespace gpuctl::k8s
