#pragma once
// What stopping others on one node would cost at least so that a pod finds room there: so that of
// thousands of nodes only those are looked at that could be the cheapest.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/plan/units_by_node.hpp"

namespace gpuctl {

// No units of the node that suffice weigh less, nor are they fewer at that weight. As the measure
// of some that were found, ties go to the lowest slot.
struct NodeBound {
    std::int64_t weight = 0;
    std::size_t count = 0;
    NodeId node;
    friend auto operator<=>(const NodeBound&, const NodeBound&) = default;
};

// Nodes of the pool that all of their units together might make room on for one pod of this shape.
std::vector<NodeBound> bounds_of(const ClusterState& state, PoolId pool, const Shape& shape,
                                 const UnitsByNode& by_node, const Units& units);
// The same of the pods of lower priority in the job's queue, by their prices and looser:
// protection, gangs and budgets are not looked at. One pass over the queue's row.
std::vector<NodeBound> bounds_below(const ClusterState& state, const Shape& shape,
                                    const JobRow& job);

}  // namespace gpuctl
