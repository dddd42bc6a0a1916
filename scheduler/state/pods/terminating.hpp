#pragma once
// Terminating pods, as a job sees them for which other pods are evicted.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// True if the usage of any queue of the pool counts against all its other queues.
bool has_limits_for_all(const ClusterState& state, PoolId id);

// How long the terminating pods may take for which the job also waits: those on the nodes of its
// round, and those that a limit counts together with it. It does not wait for stuck pods.
Duration grace_of_terminating(const ClusterState& state, const JobRow& job,
                              const std::vector<Placement>& round);

}  // namespace gpuctl
