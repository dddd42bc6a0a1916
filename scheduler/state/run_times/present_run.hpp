#pragma once
// Since when a job runs. Its run goes on while any of its pods runs, and after pods that have done
// their part; it is over when the last that ran is stopped or fails, and the next one begins with
// the first pod that starts then. Times are those of the nodes' clocks, never ours: they may
// differ.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

[[nodiscard]] inline bool is_running(const PodFacts& pod) {
    return pod.phase == PodPhase::running && !pod.terminating;
}

// When its run began: the present one, or else the last; never: nothing of it has run.
[[nodiscard]] Instant run_began(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
