#pragma once
// The assumed remaining run time of running work, for estimates.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Early: the 10th percentile of run times. Late: the run-time limit.
enum class Pace : std::uint8_t { early, median, late };
constexpr std::size_t at(Pace pace) { return static_cast<std::size_t>(pace); }

// The assumed run time; 0: unknown.
Duration run_time(const RunTimePrediction& prediction, const RunTimeQuestion& about, Pace pace);
// The assumed end of a pod that has a node. A pod that has run longer than the median is assumed to
// run as long again, at most to its limit. Never: unknown.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace);
// The same end, computed with a known prediction for the pod's job.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace,
               const RunTimeQuestion& about, const RunTimePrediction& prediction);

}  // namespace gpuctl
