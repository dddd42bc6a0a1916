#pragma once
// Who could be stopped for another job, and at what price.

#include <functional>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What is stopped together: a gang whole, of a service one pod, a lone pod.
struct EvictionUnit {
    JobId job;
    std::vector<PodId> pods;
    std::int64_t price_gpu_ms = 0;
    GpuMilli gpus;
    Instant placed_at;  // of the pod placed last
};

struct Candidates {
    std::vector<EvictionUnit> units;  // cheapest first; then fewer GPUs, younger, by name
    std::vector<PodId> leaving;       // room to come that costs nothing
    Instant look_again_at;            // when the first that is protected now no longer is; or never
};

// Pods on the nodes of the pool that answer, of jobs that `may_stop` allows, as far as they may be
// stopped at all: willing, made again by a controller, whole, not protected.
void find_candidates(const ClusterState& state, PoolId pool,
                     const std::function<bool(const JobRow&)>& may_stop, Candidates& out);

}  // namespace gpuctl
