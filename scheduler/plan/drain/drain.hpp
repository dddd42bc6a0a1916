#pragma once
// Drains nodes: for a maintenance window in time for its beginning, and for a node that is reported
// unhealthy (docs/adr/0020-calendar.md). Elastic jobs release ranks first, a gang is evicted as a
// whole, a service pod by pod.

#include "scheduler/plan/commit.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// True if one of the jobs left the line because of that.
bool drain_nodes(Commit& commit);

}  // namespace gpuctl
