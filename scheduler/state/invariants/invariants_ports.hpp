#pragma once
// I1 of host ports: the held amount of a port on a node is what its pods request. Whether they may
// hold it is checked by the checker of the simulation.

#include <string>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

std::vector<std::string> wrong_host_ports(const ClusterState& state, NodeId node);
// The counts of nodes of a pool that offer a resource are right, too.
std::vector<std::string> wrong_resource_counts(const ClusterState& state);

}  // namespace gpuctl
