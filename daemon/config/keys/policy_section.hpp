#pragma once
// The section `policy` of gpuctld.yaml: the keys of policy_document/, and pools that only the
// cluster's nodes name.

#include "daemon/config/config.hpp"
#include "policy_document/keys.hpp"

namespace gpuctl::config {

Key<Config> policy_section();

}  // namespace gpuctl::config
