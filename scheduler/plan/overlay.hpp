#pragma once
// What a search reads and changes for a trial: the state, and the capacity of the same state, on
// which trial placements are made and undone (Transaction, Withholding). The state is unchanged
// when the search returns. Decisions need a Commit (commit.hpp).

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct Overlay {
    const ClusterState& state;
    TrialCapacity capacity;
};

}  // namespace gpuctl
