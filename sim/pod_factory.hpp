#pragma once
// What the API server's controllers would create for a job: names, uids and facts of its pods, in
// the shape that k8s/convert gives them.

#include <cstdint>
#include <string>

#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/pod.hpp"
#include "sim/settings.hpp"

namespace gpuctl::sim {

// The `ordinal`-th pod of the job: rank of a training job, otherwise any number not in use. The
// name and uid follow from the arguments alone; `salt` tells apart pods made in one millisecond.
PodFacts make_pod(const JobRecord& job, std::int32_t ordinal, Instant now, std::uint64_t salt,
                  const Settings& settings);

}  // namespace gpuctl::sim
