#pragma once
// The section `expert`: values for which a named policy or a default suits almost every cluster.
// Each key says when it is needed.

#include "daemon/config/config.hpp"
#include "policy_document/keys.hpp"

namespace gpuctl::config {

Key<Config> expert_section();

// The sections that do not affect scheduling.
std::vector<Key<Config>> expert_daemon_sections();

}  // namespace gpuctl::config
