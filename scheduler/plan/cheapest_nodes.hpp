#pragma once
// For a gang of equal ranks: node by node, what one rank more would cost there, so that a search
// for whom to stop begins where it is cheapest instead of with the cheapest pods, which stand
// anywhere and seldom leave a whole node.

#include <cstdint>
#include <vector>

#include "scheduler/plan/units_by_node.hpp"

namespace gpuctl {

class CheapestNodes {
public:
    // With what is leaving already gone from the columns. `allowed`: where the ranks may stand.
    CheapestNodes(const ClusterState& state, const NodeSet& allowed, const Shape& shape,
                  const Units& units);

    // Ranks that all of `units` together would make room for.
    [[nodiscard]] std::int64_t ranks() const { return ranks_; }
    // Of `units`, in their order: those that make room for so many ranks at the least price for
    // each. One that stands on several nodes is priced on each as if it stood there alone.
    [[nodiscard]] Units for_ranks(std::int64_t ranks) const;

private:
    // Further units of one node, and the further ranks they make room for.
    struct Offer {
        std::int64_t weight_per_rank = 0;  // never less than that of the offer before it there
        NodeId node;
        std::uint32_t begin = 0;  // of its units in sorted_
        std::uint32_t end = 0;
        std::int64_t ranks = 0;
    };
    void read_node(const ClusterState& state, const Shape& shape, NodeId node);

    const Units& units_;
    UnitsByNode by_node_;
    std::vector<std::uint32_t> sorted_;  // positions in units_, by node, there by weight
    std::vector<Offer> offers_;          // cheapest first; of one node in their order
    std::int64_t ranks_ = 0;
    std::vector<std::int64_t> free_;  // by need of the shape, while a node is read
};

}  // namespace gpuctl
