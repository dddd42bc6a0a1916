#pragma once
// A policy as users write it: YAML or JSON with the keys of docs/policies. gpuctld.yaml has it in
// its sections `policy` and `expert`; an object of a cluster can hold the same text.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/policy/named_policy.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::config {

struct PolicyDocument {
    Policy policy;
    // The named policy of the cluster, and of the pools that name their own (docs/adr/0038). Their
    // values are in `policy`; the names are stored to show where a value comes from.
    std::string policy_name{kDefaultPolicyName};
    std::map<std::string, std::string> pool_policy_names;
    std::vector<std::string> expert_pools;  // pools of expert.pools, as written
};

// The named policy that a pool uses.
const NamedPolicy& policy_of_pool(const PolicyDocument& document, const std::string& pool);

struct PolicyReading {
    PolicyDocument document;
    std::vector<std::string> warnings;  // sentences with their places
};
// `text` has the sections `policy` and `expert` of gpuctld.yaml, of the latter `scheduling` and
// `pools`; both may be absent. Every error is reported, each with its place in `name`. Checks that
// need the nodes of the cluster are left to the caller.
Result<PolicyReading> parse_policy(std::string_view text, const std::string& name);

}  // namespace gpuctl::config
