#pragma once
// Names in the policy of pools and nodes that the cluster must have.

#include "daemon/config/config.hpp"
#include "daemon/wire/fields.hpp"

namespace gpuctl::config {

// For the embedded cluster, of which all is known before there is one: nodes of Kubernetes come and
// go, and their labels say what pools there are.
void check_known_names(const Config& config, const wire::Field& policy);

}  // namespace gpuctl::config
