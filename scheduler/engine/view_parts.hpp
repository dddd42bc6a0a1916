#pragma once
// Shared by the files that make views; private to this room.

#include <map>

#include "scheduler/engine/views.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::view_parts {

using Positions = std::map<JobId, std::int64_t>;
Positions positions(const ClusterState& state);
PodView pod_view(const ClusterState& state, PodId id);

}  // namespace gpuctl::view_parts
