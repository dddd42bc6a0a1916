#pragma once
// How long what runs goes on, as it is taken for estimates.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// As short as one run in ten, as the median, to its limit.
enum class Pace : std::uint8_t { early, median, late };
constexpr std::size_t at(Pace pace) { return static_cast<std::size_t>(pace); }

// 0: nobody knows.
Duration run_time(const RunTimePrediction& told, const RunTimeQuestion& about, Pace pace);
// Of a pod that has a node. One that has outlasted the median is taken to last as long again, at
// most to its limit. Never: nobody knows.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace);
// The same with what is predicted of its job.
Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace,
               const RunTimeQuestion& about, const RunTimePrediction& told);

}  // namespace gpuctl
