#pragma once
// The node on which a pod of some shape spoils least, kept as a tournament per shape: what changed
// since the shape was asked for last is judged anew and climbs its tree, so that an answer costs
// work proportional to the changes and not to the nodes. Ties go to the lowest slot.
//
// Owner: the Placer. Nothing here decides anything that judging every node would not.

#include <cstdint>
#include <vector>

#include "scheduler/plan/eligibility.hpp"
#include "scheduler/plan/fragmentation.hpp"

namespace gpuctl {

class BestNode {
public:
    // None: no eligible node of the pool takes one pod of this shape now.
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
        std::uint64_t used = 0;           // when it was asked for last
        std::uint32_t leaves = 0;         // a power of two
        std::vector<std::int64_t> costs;  // 1: the best; children of n: 2n, 2n + 1
    };
    struct Judge;

    Tree& tree_of(PoolId pool, ShapeId id, std::uint64_t serial, std::size_t slots);
    static void build(Tree& tree, const Judge& judge, std::size_t slots);
    static void set(Tree& tree, std::uint32_t slot, std::int64_t cost);

    std::vector<Tree> trees_;
    std::uint64_t asked_ = 0;
};

}  // namespace gpuctl
