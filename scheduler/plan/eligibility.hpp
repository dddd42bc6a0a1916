#pragma once
// Which nodes a constraint allows, as a set per constraint, brought up to date from the state's log
// of changed nodes when it is asked for. Only speeds things up: nothing here decides anything that
// the filters would not.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class EligibilityCache {
public:
    const NodeSet& of(const ClusterState& state, ConstraintId id);

private:
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
