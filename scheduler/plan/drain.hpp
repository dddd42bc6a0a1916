#pragma once
// Empties nodes: for a maintenance window in time for its beginning, and where a node is told to be
// unhealthy (docs/adr/0020-calendar.md). Elastic jobs give ranks first, a gang goes whole, of a
// service each pod by itself.

#include "scheduler/model/effect_list.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// True when one of them loses its turn by that.
bool drain_nodes(ClusterState& state, EffectList& effects);

}  // namespace gpuctl
