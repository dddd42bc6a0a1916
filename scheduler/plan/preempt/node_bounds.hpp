#pragma once
// A lower bound on the price of the evictions on one node that make room for a pod. With it, only
// nodes that may be the best one are examined among thousands.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/plan/preempt/units_by_node.hpp"

namespace gpuctl {

// No sufficient set of units on the node weighs less, or has fewer units at that weight. Ties are
// broken by the lowest slot, as between found sets.
struct NodeBound {
    std::int64_t weight = 0;
    std::size_t count = 0;
    NodeId node;
    friend auto operator<=>(const NodeBound&, const NodeBound&) = default;
};

// Bounds of the pool's nodes where all units of the node together might make room for one pod of
// this shape.
std::vector<NodeBound> bounds_of(const ClusterState& state, PoolId pool, const Shape& shape,
                                 const UnitsByNode& by_node, const Units& units);
// The same for pods of lower priority in the job's queue, by price. These bounds are less tight:
// protection, gangs and eviction budgets are ignored. It makes one pass over the row of the queue.
std::vector<NodeBound> bounds_below(const ClusterState& state, const Shape& shape,
                                    const JobRow& job);

}  // namespace gpuctl
