#pragma once
// Why a submitted job that ought to run has no pod that could be placed: the planner never sees it,
// so no blocker of the planner's explains it.

#include <optional>

#include "scheduler/model/reason.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

// Nothing for a job of a Kubernetes user, one that has ended, and one with live pods.
std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
