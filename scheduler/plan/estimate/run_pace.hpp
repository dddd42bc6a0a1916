#pragma once
// The assumed remaining run time of running work, for estimates.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The 10th percentile of run times, the median, the run-time limit.
enum class Pace : std::uint8_t { early, median, late };
constexpr std::size_t at(Pace pace) { return static_cast<std::size_t>(pace); }

// 0: unknown.
Duration run_time(const RunTimePrediction& told, const RunTimeQuestion& about, Pace pace);
// For a pod that has a node. A pod that has run longer than the median is assumed to run as long
// again, at most to its limit. Never: unknown.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace);
// The same with the prediction for its job.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace,
               const RunTimeQuestion& about, const RunTimePrediction& told);

}  // namespace gpuctl
