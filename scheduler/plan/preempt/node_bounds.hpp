#pragma once
// A lower bound on the price of evictions on one node that make room for a pod, so that of
// thousands of nodes only possible optima are examined.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/plan/preempt/units_by_node.hpp"

namespace gpuctl {

// No sufficient set of units of the node weighs less, or has fewer units at that weight. Ties go to
// the lowest slot, as for the measure of a found set.
struct NodeBound {
    std::int64_t weight = 0;
    std::size_t count = 0;
    NodeId node;
    friend auto operator<=>(const NodeBound&, const NodeBound&) = default;
};

// Nodes of the pool where all of their units together might make room for one pod of this shape.
std::vector<NodeBound> bounds_of(const ClusterState& state, PoolId pool, const Shape& shape,
                                 const UnitsByNode& by_node, const Units& units);
// The same for pods of lower priority in the job's queue, by price and less tight: protection,
// gangs and eviction budgets are ignored. One pass over the row of the queue.
std::vector<NodeBound> bounds_below(const ClusterState& state, const Shape& shape,
                                    const JobRow& job);

}  // namespace gpuctl
