#pragma once
// For reports to users: would the job get a quota reservation if another job came that could take
// the capacity left under its limits (quota_reservations.hpp)?

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

bool is_first_under_its_limits(const ClusterState& state, JobId job);

}  // namespace gpuctl
