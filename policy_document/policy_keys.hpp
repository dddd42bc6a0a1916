#pragma once
// The section `policy`: the named policy of the cluster and of its pools (docs/adr/0038), and facts
// about the site: pools, queues, namespaces, windows.

#include "policy_document/keys.hpp"
#include "policy_document/policy_document.hpp"

namespace gpuctl::config {

std::vector<Key<PolicyDocument>> policy_keys();
// Gives a pool without an entry the policy of the cluster.
void add_pool(const std::string& name, PolicyDocument& document);

// Placeholder for a pool's named policy in the table of a pool; policy_keys() reads and prints it.
Key<PoolPolicy> pool_policy_name();

}  // namespace gpuctl::config
