#pragma once
// GPU models recounted from the rows, for invariants.cpp.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::models {

bool is_charged_right(const ClusterState& state, QueueId queue, const ModelHolding& model);
bool agrees_on_reserved(const ClusterState& state, PoolId pool, const ModelRoom& room);
bool is_summed_up(const ClusterState& state, PoolId pool, const ModelRoom& room);

}  // namespace gpuctl::models
