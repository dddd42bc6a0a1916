#pragma once
// GPU models recounted from the rows, for invariants.cpp.

#include <string_view>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::models {

// By the queue's jobs and those below it; none: by all of the pool's queues.
GpuMilli held_below(const ClusterState& state, QueueId queue, std::string_view model,
                    PoolId pool = PoolId::none());
bool is_summed_up(const ClusterState& state, PoolId pool, const ModelRoom& room);

}  // namespace gpuctl::models
