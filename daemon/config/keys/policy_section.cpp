#include "daemon/config/keys/policy_section.hpp"

#include "daemon/config/cluster/backend_sections.hpp"
#include "policy_document/policy_keys.hpp"

namespace gpuctl::config {
namespace {

// Pools exist without an entry: `default`, and those that nodes name. The engine gives those the
// policy `balanced`; an entry gives the ones known here the cluster's policy.
void add_pools_without_entry(const wire::Field& field, Config& config) {
    if (config.policy_name == kDefaultPolicyName) return;
    add_pool(kDefaultPool, config);
    if (const auto* groups = known_nodes(config.cluster)) {
        for (const EmbeddedNodes& nodes : *groups) add_pool(nodes.pool, config);
        return;
    }
    wire::Fields{field}.find("name").warning(
        "policy.name: " + config.policy_name +
        " is used by the pools of policy.pools and by pool default; a pool that only a "
        "node's label names uses balanced: list it in policy.pools");
}

}  // namespace

Key<Config> policy_section() {
    std::vector<Key<Config>> members;
    for (Key<PolicyDocument>& key : policy_keys())
        members.push_back(of_base<Config>(std::move(key)));
    return group<Config>("policy", std::move(members), "how GPUs are shared; may change on SIGHUP",
                         [](const wire::Field& field, Config& config) {
                             check(config.policy, field);
                             add_pools_without_entry(field, config);
                         });
}

}  // namespace gpuctl::config
