#pragma once
// The node with the lowest cost for a pod of some shape, as a tournament tree per shape. Nodes that
// changed since the last query of the shape are re-evaluated and move up its tree, so a query costs
// work proportional to the changes and not to the nodes. Ties go to the lowest slot.
//
// Owner: the Placer. The tree is only an index: the result is that of evaluating every node.

#include <cstdint>
#include <vector>

#include "scheduler/plan/allocate/eligibility.hpp"
#include "scheduler/plan/allocate/fragmentation.hpp"

namespace gpuctl {

class BestNode {
public:
    // None: no eligible node of the pool has room for a pod of this shape now.
    NodeId of(const ClusterState& state, const Capacity& capacity, const NodeSet& eligible,
              const Fragmentation& fragmentation, PoolId pool, ShapeId shape);

private:
    struct Tree {
        ShapeId shape;
        std::uint64_t shape_serial = 0;
        PoolId pool;
        std::uint64_t version = 0;
        const Capacity* of = nullptr;
        std::uint64_t change_epoch = 0;
        std::size_t change_at = 0;
        std::uint64_t eligibility_epoch = 0;
        std::size_t eligibility_at = 0;
        std::uint64_t used = 0;           // time of the last query
        std::uint32_t leaves = 0;         // number of leaves, a power of two
        std::vector<std::int64_t> costs;  // 1: the lowest cost; children of n: 2n, 2n + 1
    };
    struct NodeCost;

    Tree& tree_of(PoolId pool, ShapeId id, std::uint64_t serial, std::size_t slots);
    static void build(Tree& tree, const NodeCost& cost_of, std::size_t slots);
    static void set(Tree& tree, std::uint32_t slot, std::int64_t cost);

    std::vector<Tree> trees_;
    std::uint64_t asked_ = 0;
};

}  // namespace gpuctl
