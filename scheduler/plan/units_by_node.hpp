#pragma once
// Units that could be stopped, by the nodes they would leave: so that what may be had on one node
// is asked of those that stand there, not of all.

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "scheduler/plan/victims.hpp"

namespace gpuctl {

using Units = std::vector<const EvictionUnit*>;

// The most that the unit could leave of this column on the node: the last part of a GPU leaves all
// of it.
std::int64_t freed(const ClusterState& state, const EvictionUnit& unit, NodeId node, Column column);

// Of which GPUs of the node the units hold parts, and whether this one does.
std::set<std::int32_t> devices_of(const ClusterState& state, const Units& units, NodeId node);
bool is_on_device(const ClusterState& state, const EvictionUnit& unit, NodeId node,
                  std::int32_t device);

class UnitsByNode {
public:
    // `units` must outlive it.
    UnitsByNode(const ClusterState& state, const Units& units);

    // Nodes that some of them stand on, lowest slot first.
    [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
    // Positions in `units` of those that have a pod there, in order, each once.
    [[nodiscard]] std::span<const std::uint32_t> on(NodeId node) const {
        const std::uint32_t slot = node.value();
        return std::span{positions_}.subspan(first_[slot], first_[slot + 1] - first_[slot]);
    }
    // The units there, in order, with those that have to go before one of them.
    [[nodiscard]] Units with_those_before(NodeId node) const;

private:
    const Units& units_;
    std::vector<NodeId> nodes_;
    std::vector<std::uint32_t> first_;      // by slot: where its own begin in positions_
    std::vector<std::uint32_t> positions_;  // in units_
};

}  // namespace gpuctl
