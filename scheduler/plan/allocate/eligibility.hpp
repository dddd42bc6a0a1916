#pragma once
// The set of nodes that a constraint allows, per constraint, updated on demand from the state's log
// of changed nodes. It is only a cache: the filters decide.

#include <array>
#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class EligibilityCache {
public:
    // The nodes allowed now: nodes of maintenance windows that have begun are excluded.
    const NodeSet& of(const ClusterState& state, ConstraintId id);
    // Excludes the nodes of these maintenance windows, whether the windows have begun or not. The
    // reference is valid until the next kOutsideMost queries with other constraints or windows.
    const NodeSet& outside(const ClusterState& state, ConstraintId id, WindowSet windows);

private:
    static constexpr std::size_t kOutsideMost = 8;
    struct Outside {
        ConstraintId id;
        std::uint64_t serial = 0;
        WindowSet windows = 0;
        std::uint64_t epoch = 0;
        std::size_t position = 0;
        NodeSet nodes;
    };
    std::array<Outside, kOutsideMost> outside_;
    std::size_t outside_next_ = 0;

    struct Entry {
        std::uint64_t serial = 0;
        std::uint64_t epoch = 0;
        std::size_t position = 0;  // position in the log of that epoch
        NodeSet nodes;
    };
    static void check_node(const ClusterState& state, const Constraint& constraint,
                           std::uint32_t slot, NodeSet& nodes);
    std::vector<Entry> entries_;  // by ConstraintId
};

}  // namespace gpuctl
