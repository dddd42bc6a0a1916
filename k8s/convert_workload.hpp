#pragma once
// A Job, Deployment or StatefulSet that we made, as the engine wants to know of it.

#include <string_view>

#include "k8s/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/workload.hpp"

namespace gpuctl::k8s {

// One reader for all three: a Job has spec.suspend and conditions Complete, Failed and Suspended,
// the others spec.replicas, a Deployment the condition ReplicaFailure. An empty job_uid: not of
// ours.
Result<WorkloadFacts> read_workload(std::string_view json, const LabelKeys& labels);

}  // namespace gpuctl::k8s
