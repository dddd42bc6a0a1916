#pragma once
// Pods that ought to be there and are not: a submitted job has none that could be placed, or a gang
// that ran lacks ranks. The planner never sees them, so no blocker of the planner's explains it.

#include <optional>

#include "scheduler/model/reason.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

// Nothing for one that has ended; for one with live pods, or of a Kubernetes user, unless it is a
// gang.
std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
