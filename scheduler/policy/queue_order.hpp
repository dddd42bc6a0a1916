#pragma once
// Whose turn it is: which of the waiting classes of a pool is tried next. Reads the state, decides
// nothing else; docs/adr/0011-queue-tree.md says why in this order.

#include <vector>

#include "scheduler/policy/shortest_first.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What a Plan knows about a pool's line beyond the state.
struct Line {
    // Nobody has a promise yet in this Plan: the first in line may be one that was refused before.
    bool may_promise = false;
    std::vector<ClassId> passed;  // that can be promised nothing
    ShortestFirst scores;

    [[nodiscard]] bool offers(const ClusterState& state, ClassId id) const;
};

// The class that is next; none: nothing in the pool waits that is not refused already.
ClassId next_class(const ClusterState& state, PoolId pool, Line& line);

}  // namespace gpuctl
