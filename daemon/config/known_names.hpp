#pragma once
// Checks names in the policy against the pools and nodes of the cluster.

#include <string_view>
#include <vector>

#include "daemon/config/config.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

// For a cluster whose nodes the configuration lists under the key `nodes_key`: nodes of Kubernetes
// come and go, and their labels define the pools. `policy` was read from `field`.
void check_known_names(const std::vector<EmbeddedNodes>& groups, std::string_view nodes_key,
                       const Policy& policy, const wire::Field& field);

}  // namespace gpuctl::config
