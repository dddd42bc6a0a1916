#pragma once
// When the run of a job began. A run goes on while any pod of the job runs, and after pods that
// have succeeded. It is over when the last running pod is stopped or fails; the next run begins
// with the first pod that starts afterwards. All times are from the clocks of nodes, never from
// ours: clocks may differ.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

[[nodiscard]] inline bool is_running(const PodFacts& pod) {
    return pod.phase == PodPhase::running && !pod.terminating;
}

// The start of the present run, or else of the last run; never: no pod has run.
[[nodiscard]] Instant run_began(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
