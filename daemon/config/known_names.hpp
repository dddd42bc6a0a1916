#pragma once
// Checks names in the policy against the pools and nodes of the cluster.

#include "daemon/config/config.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

// For the embedded cluster, which is fully known before the start: nodes of Kubernetes come and go,
// and their labels define the pools.
void check_known_names(const Config& config, const wire::Field& policy);

}  // namespace gpuctl::config
