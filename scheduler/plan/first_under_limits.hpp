#pragma once
// Asked by those who tell users: would what limits leave be kept for the job, should somebody come
// who might take it (limit_holds.hpp)?

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

bool is_first_under_its_limits(const ClusterState& state, JobId job);

}  // namespace gpuctl
