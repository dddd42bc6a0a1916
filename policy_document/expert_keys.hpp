#pragma once
// The keys of the section `expert` that are of a policy: values for which a named policy or a
// default suits almost every cluster. Each key says when it is needed.

#include "policy_document/keys.hpp"
#include "policy_document/policy_document.hpp"

namespace gpuctl::config {

// `scheduling` and `pools`; read after the section `policy`, whose pools they name.
std::vector<Key<PolicyDocument>> expert_policy_sections();

}  // namespace gpuctl::config
