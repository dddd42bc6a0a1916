#pragma once
// Whose turn it is: which of the waiting classes of a pool is tried next. Reads the state, decides
// nothing else; docs/adr/0011-queue-tree.md says why in this order.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The class to try next; none: nothing in the pool waits that is not refused already.
ClassId next_class(const ClusterState& state, PoolId pool);

}  // namespace gpuctl
