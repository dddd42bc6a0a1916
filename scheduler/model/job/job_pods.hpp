#pragma once
// The pods that a controller makes for a job, as far as scheduling sees them: the simulated cluster
// and what-if both use it. (In Kubernetes they come from the API server;
// k8s/workload/workload_pod.cpp writes the template.)

#include <cstdint>
#include <string>

#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

// The number of pods that exist at the same time.
std::int32_t pods_of(const JobSpec& spec);

// A pod without uid and name. `ordinal` is the rank of the pod of a training job.
PodFacts pod_of(const JobSpec& spec, std::int32_t ordinal, Instant now,
                const std::string& label_prefix);

}  // namespace gpuctl
