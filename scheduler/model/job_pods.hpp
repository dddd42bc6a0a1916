#pragma once
// The pods that a controller makes of a job, as far as scheduling sees them: the virtual cluster
// and what-if make them alike. (In Kubernetes they come from the API server; k8s/workload_pod.cpp
// writes the template they are made of.)

#include <cstdint>
#include <string>

#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

// So many at once.
std::int32_t pods_of(const JobSpec& spec);

// Everything but uid and name. `ordinal` is the rank of a training job's pod.
PodFacts pod_of(const JobSpec& spec, std::int32_t ordinal, Instant now,
                const std::string& label_prefix);

}  // namespace gpuctl
