#pragma once
// The fair entitlement of each queue: the pool's GPUs divided down the tree of its queues, by
// priority first, then by weight. `gpuctl get queues` shows it.

#include <map>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct Entitlement {
    GpuMilli entitled;  // its part of the pool, given what all queues hold and wait for
    GpuMilli held;
    GpuMilli demand;  // what it holds and waits for
    // What the queue holds beyond its entitlement, and the part of its entitlement that it lacks.
    [[nodiscard]] GpuMilli over() const { return std::max(held - entitled, GpuMilli{}); }
    [[nodiscard]] GpuMilli owed() const { return std::max(entitled - held, GpuMilli{}); }
};

// Entitlements of all queues of the pool, including inner ones. Only jobs that could be tried count
// as waiting: a queue is owed nothing for a job that waits for its gang or its gates.
std::map<QueueId, Entitlement> entitlements(const ClusterState& state, PoolId pool);

}  // namespace gpuctl
