#pragma once
// What terminating pods mean for a job that other pods are evicted for.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What any queue of the pool holds is in the way of all others there.
bool has_limits_for_all(const ClusterState& state, PoolId id);

// How long pods may take that terminate already, and that the job waits for, too: on the nodes of
// its round, or under a limit that counts them and it. It does not wait for stuck pods.
Duration grace_of_terminating(const ClusterState& state, const JobRow& job,
                              const std::vector<Placement>& round);

}  // namespace gpuctl
