#pragma once
// Pods that should exist and do not: a submitted job has no pod that could be placed, or a gang
// that ran lacks ranks. The planner never sees them, so none of its blockers explains them.

#include <optional>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

// Nothing for a job that has ended, and, unless it is a gang, for a job with live pods or of a
// Kubernetes user.
std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
