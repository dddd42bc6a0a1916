#pragma once
// Converts the state of jobs to inputs of scale/. The engine evaluates every job whose signals an
// event reports.

#include <span>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/scale/scale.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The input of a job. A job with a fixed size has this size as minimum and maximum.
scale::ScaleInput scale_input(const ClusterState& state, JobId job);

// Proposals for the known jobs of the event, each job once, ordered by key.
std::vector<scale::ScaleProposal> scale_proposals(const ClusterState& state,
                                                  const MetricsObserved& event,
                                                  std::span<const scale::ScaleRule> rules);

}  // namespace gpuctl
