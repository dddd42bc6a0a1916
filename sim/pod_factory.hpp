#pragma once
// The pods that Kubernetes' controllers would create for a job: names, uids and facts, in the form
// that k8s/convert produces.

#include <cstdint>
#include <string>

#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/pod.hpp"
#include "sim/settings.hpp"

namespace gpuctl::sim {

// The `ordinal`-th pod of the job: the rank of a training job, otherwise any number not in use.
// Name and uid depend only on the arguments; `salt` distinguishes pods created in one millisecond.
PodFacts make_pod(const JobRecord& job, std::int32_t ordinal, Instant now, std::uint64_t salt,
                  const Settings& settings);

}  // namespace gpuctl::sim
