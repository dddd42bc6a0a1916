#pragma once
// Shared by the files that make views; private to this room.

#include <map>

#include "scheduler/engine/views.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::view_parts {

using Positions = std::map<JobId, std::int64_t>;
Positions positions(const ClusterState& state);
// Of every waiting job, the pools' queues taken together in the order of their priorities.
using Starts = std::map<JobId, StartEstimate>;
Starts starts(const ClusterState& state, const Positions& positions);
PodView pod_view(const ClusterState& state, PodId id);

}  // namespace gpuctl::view_parts
