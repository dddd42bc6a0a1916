#pragma once
// Who is owed what: the pool's GPUs divided down the tree of its queues, by priority first, then by
// weight. `gpuctl get queues` shows it.

#include <map>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct Entitlement {
    GpuMilli entitled;  // of what is there, given what everybody holds and waits for
    GpuMilli held;
    GpuMilli demand;  // held and waited for
    // What it holds beyond its part, and what of its part others have.
    [[nodiscard]] GpuMilli over() const { return std::max(held - entitled, GpuMilli{}); }
    [[nodiscard]] GpuMilli owed() const { return std::max(entitled - held, GpuMilli{}); }
};

// For every queue of the pool, inner ones included. Only jobs that could be tried count as waiting:
// one that waits for its gang or its gates is owed nothing.
std::map<QueueId, Entitlement> entitlements(const ClusterState& state, PoolId pool);

}  // namespace gpuctl
