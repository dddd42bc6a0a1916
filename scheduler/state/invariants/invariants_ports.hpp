#pragma once
// I1 of host ports: so much of a port is held on a node as its pods take. Whether they may is for
// the checker of the simulation to say.

#include <string>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

std::vector<std::string> wrong_host_ports(const ClusterState& state, NodeId node);
// And so many nodes of a pool count a resource as are said to.
std::vector<std::string> wrong_resource_counts(const ClusterState& state);

}  // namespace gpuctl
