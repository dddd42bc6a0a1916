#pragma once
// The fair entitlement of each queue: the pool's GPUs divided down the tree of its queues, by
// priority first, then by weight. `gpuctl get queues` shows it.

#include <map>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct Entitlement {
    GpuMilli entitled;  // of the pool, given what all queues hold and wait for
    GpuMilli held;
    GpuMilli demand;  // held and waited for
    // What it holds beyond its entitlement, and what of its entitlement other queues hold.
    [[nodiscard]] GpuMilli over() const { return std::max(held - entitled, GpuMilli{}); }
    [[nodiscard]] GpuMilli owed() const { return std::max(entitled - held, GpuMilli{}); }
};

// For every queue of the pool, including inner ones. Only jobs that could be tried count as
// waiting: a job that waits for its gang or its gates is owed nothing.
std::map<QueueId, Entitlement> entitlements(const ClusterState& state, PoolId pool);

}  // namespace gpuctl
