#pragma once
// Explains pods that should exist and do not: a submitted job has no pod that could be placed, or a
// gang that ran lacks ranks. The planner never sees such pods, so none of its blockers explains
// them.

#include <optional>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

// Nothing for a job that has ended. Nothing for a job other than a gang if it has live pods or
// belongs to a Kubernetes user.
std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
