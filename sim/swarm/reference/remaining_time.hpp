#pragma once
// Remaining work of a job, computed for the checker without the engine's arithmetic: plain, slow
// loops over the observed runs (docs/adr/0018 defines the estimates).

#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {

// The run time that the user estimates, or an estimate from past jobs of its owner, less the kept
// progress.
Duration remaining_time(const ClusterState& state, const JobRow& job);

// Time times GPUs to the pool's exponent, as a logarithm to base 2 in 65536ths: for a running job
// that would lose this much run time.
std::int64_t running_size(const ClusterState& state, const PreemptionPolicy& policy,
                          const JobRow& job, Duration lost);

// The size by which a waiting job is ordered. The user's estimate is rounded up to eighths of the
// largest power of two below it; jobs within one step count as equal.
std::int64_t waiting_size(const ClusterState& state, const PreemptionPolicy& policy,
                          const JobRow& job);

}  // namespace gpuctl::sim
