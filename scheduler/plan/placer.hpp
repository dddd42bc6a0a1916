#pragma once
// Finds nodes, and devices for parts of GPUs. One pod goes to where it spoils least
// (fragmentation.hpp); a gang goes to few nodes, all of its ranks or none.

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/plan/best_node.hpp"
#include "scheduler/plan/eligibility.hpp"
#include "scheduler/plan/fragmentation.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Placer {
public:
    struct Spot {
        NodeId node;
        std::int32_t device = kNoDevice;
    };
    // Where one pod of this shape spoils least; no node when it fits nowhere.
    Spot best(const ClusterState& state, const Capacity& capacity, PoolId pool, ShapeId id);

    // The tightest node of the pool for `ranks` pods of this shape together; none when no node.
    NodeId tightest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks);

    // Fills `out` with a node for each of `pods`, in their order; false (and `out` empty) when that
    // is impossible. Complete for pods of one shape. For several shapes a search follows when the
    // first try fails, bounded by kSearchStepsMax, complete within it.
    bool place_all(const ClusterState& state, Capacity& capacity, PoolId pool,
                   const std::vector<PodId>& pods, std::vector<Placement>& out);

    // The nodes that the rules of this shape allow.
    const NodeSet& eligible(const ClusterState& state, const Shape& shape) {
        return eligibility_.of(state, shape.constraint);
    }

    // Nodes with these GPU models are left alone by what follows; the names must live as long.
    void avoid(const std::vector<std::string_view>& models) { avoided_ = models; }

    // Tries of one pod on one node. Enough for all worlds up to about eight ranks on eight nodes;
    // beyond it a mixed gang may be refused although a placement exists.
    static constexpr std::int64_t kSearchStepsMax = 20'000;

private:
    NodeId roomiest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks, std::int64_t& fitting);
    [[nodiscard]] bool is_avoided(const ClusterState& state, std::uint32_t slot) const;
    NodeId beside_gpus(const Capacity& capacity, PoolId pool, const Shape& shape,
                       const NodeSet& eligible, std::int64_t ranks) const;
    void sort_by_size(const ClusterState& state, const std::vector<PodId>& pods);
    bool place_greedily(const ClusterState& state, Capacity& capacity, PoolId pool,
                        Transaction& attempt);
    void take_ranks(const Capacity& capacity, Transaction& attempt, NodeId node, const Shape& shape,
                    std::int64_t ranks);
    bool search(const ClusterState& state, Capacity& capacity, PoolId pool, Transaction& attempt,
                std::size_t next, std::int64_t& steps_left);

    EligibilityCache eligibility_;
    Fragmentation fragmentation_;
    BestNode best_node_;
    std::vector<std::string_view> avoided_;
    std::vector<Transaction::Entry> log_;
    std::vector<PodId> order_;  // the pods, largest shape first, equal shapes together
    std::vector<Spot> chosen_;  // per position in order_
};

}  // namespace gpuctl
