#pragma once
// Eviction units by the nodes that they would release, so that a search for room on one node
// examines only the units there.

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "scheduler/plan/preempt/victims.hpp"

namespace gpuctl {

using Units = std::vector<const EvictionUnit*>;

// The most of this column that the unit could release on the node. The last fraction on a GPU
// releases the whole GPU.
std::int64_t freed(const ClusterState& state, const EvictionUnit& unit, NodeId node, Column column);

// The GPUs of the node that the units hold fractions of.
std::set<std::int32_t> devices_of(const ClusterState& state, const Units& units, NodeId node);
bool is_on_device(const ClusterState& state, const EvictionUnit& unit, NodeId node,
                  std::int32_t device);

class UnitsByNode {
public:
    // `units` must outlive it.
    UnitsByNode(const ClusterState& state, const Units& units);

    // Nodes with some of the units, lowest slot first.
    [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
    // Indexes into `units` of the units with a pod on the node, in order, each once.
    [[nodiscard]] std::span<const std::uint32_t> on(NodeId node) const {
        const std::uint32_t slot = node.value();
        return std::span{positions_}.subspan(first_[slot], first_[slot + 1] - first_[slot]);
    }
    // The units with a pod on the node, in order, with the units that must be evicted before one of
    // them.
    [[nodiscard]] Units with_those_before(NodeId node) const;

private:
    const Units& units_;
    std::vector<NodeId> nodes_;
    std::vector<std::uint32_t> first_;      // by slot: where its units begin in positions_
    std::vector<std::uint32_t> positions_;  // in units_
};

}  // namespace gpuctl
