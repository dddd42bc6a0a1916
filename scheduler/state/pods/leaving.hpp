#pragma once
// What those who leave anyway may be to a job that has others stopped.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What any queue of the pool holds is in the way of all others there.
bool has_limits_for_all(const ClusterState& state, PoolId id);

// How long those may take of whom nobody had to ask, and whose going the job waits for, too: on the
// nodes of its round, or under a limit that counts them and it. Who is stuck is not waited for.
Duration grace_of_leaving(const ClusterState& state, const JobRow& job,
                          const std::vector<Placement>& round);

}  // namespace gpuctl
