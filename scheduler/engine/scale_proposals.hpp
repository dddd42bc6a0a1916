#pragma once
// The state of jobs as input of scale/. The engine hands over every job whose signals an event
// reports.

#include <span>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/scale/scale.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// A job whose size is fixed has it as minimum and maximum.
scale::ScaleInput scale_input(const ClusterState& state, JobId job);

// For each job of the event that the state knows, once, by key.
std::vector<scale::ScaleProposal> scale_proposals(const ClusterState& state,
                                                  const MetricsObserved& event,
                                                  std::span<const scale::ScaleRule> rules);

}  // namespace gpuctl
