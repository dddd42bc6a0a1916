#pragma once
// For a gang of equal ranks: the price of room for one more rank, node by node, so that a search
// for victims begins on the cheapest nodes. The cheapest pods of a pool are on any nodes and seldom
// free a complete node.

#include <cstdint>
#include <vector>

#include "scheduler/plan/preempt/units_by_node.hpp"

namespace gpuctl {

class CheapestNodes {
public:
    // The columns must exclude terminating pods. `allowed`: nodes that the ranks may use.
    CheapestNodes(const ClusterState& state, const NodeSet& allowed, const Shape& shape,
                  const Units& units);

    // The number of ranks that all of `units` together would make room for.
    [[nodiscard]] std::int64_t ranks() const { return ranks_; }
    // The units, in their order, that make room for this many ranks at the lowest price per rank. A
    // unit on several nodes is priced on each node as if it were on that node alone.
    [[nodiscard]] Units for_ranks(std::int64_t ranks) const;

private:
    // Further units of one node, and the further ranks that they make room for.
    struct Offer {
        std::int64_t weight_per_rank = 0;  // never less than that of the node's previous offer
        NodeId node;
        std::uint32_t begin = 0;  // its first unit in sorted_
        std::uint32_t end = 0;
        std::int64_t ranks = 0;
    };
    void read_node(const ClusterState& state, const Shape& shape, NodeId node);

    const Units& units_;
    UnitsByNode by_node_;
    std::vector<std::uint32_t> sorted_;  // indexes into units_, by node, then by weight
    std::vector<Offer> offers_;          // cheapest first; offers of one node in their order
    std::int64_t ranks_ = 0;
    std::vector<std::int64_t> free_;  // by need of the shape, of the node that is read now
};

}  // namespace gpuctl
