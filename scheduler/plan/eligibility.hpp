#pragma once
// Which nodes a constraint allows, as a set per constraint, brought up to date from the state's log
// of changed nodes when it is asked for. Only speeds things up: nothing here decides anything that
// the filters would not.

#include <array>
#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class EligibilityCache {
public:
    // Now: without the nodes of windows that have begun.
    const NodeSet& of(const ClusterState& state, ConstraintId id);
    // Without the nodes of these windows, whether they have begun or not; good until the next
    // kOutsideMost of other constraints or windows are asked for.
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
        std::size_t position = 0;  // in the log of that epoch
        NodeSet nodes;
    };
    static void judge(const ClusterState& state, const Constraint& constraint, std::uint32_t slot,
                      NodeSet& nodes);
    std::vector<Entry> entries_;  // by ConstraintId
};

}  // namespace gpuctl
