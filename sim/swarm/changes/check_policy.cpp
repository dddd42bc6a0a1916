// Objects of the policy, and that pools, queues and quotas are those of the policy.

#include <algorithm>

#include "sim/swarm/changes/change_checks.hpp"

namespace gpuctl::sim {
namespace {

bool lists(const Policy& policy, const std::string& pool, const std::string& queue) {
    return std::any_of(policy.pools.begin(), policy.pools.end(), [&](const PoolPolicy& one) {
        return one.name == pool &&
               std::any_of(one.queues.begin(), one.queues.end(),
                           [&](const QueuePolicy& other) { return other.name == queue; });
    });
}

}  // namespace

void ChangeChecks::check_objects(const Event& event, const ClusterState& after) {
    const auto* changed = std::get_if<PolicyObjectsChanged>(&event);
    if (changed != nullptr) PolicyEdits::apply(*changed, objects_);
    const bool is_new_term = std::holds_alternative<LeadershipChanged>(event);
    if ((changed != nullptr || is_new_term) && after.policy_objects.by_key() != objects_) {
        fail("I28", "the objects of the policy are not what people made: " +
                        std::to_string(after.policy_objects.by_key().size()) + " instead of " +
                        std::to_string(objects_.size()) + ", or other versions");
    }
    if (std::holds_alternative<PolicyChanged>(event) || is_new_term) check_tree(after);
    if (std::holds_alternative<NodeObserved>(event) || std::holds_alternative<NodeRemoved>(event))
        check_pools(after);
}

void ChangeChecks::check_tree(const ClusterState& after) {
    const Policy& policy = after.policy();
    for (const QueueRow& queue : after.tree.queue_rows()) {
        const std::string& pool = after.tree.pool_rows()[queue.pool.value()].name;
        const bool is_listed = queue.name == kDefaultQueue || lists(policy, pool, queue.name);
        if (is_listed == queue.in_policy) continue;
        fail("I28", "queue " + queue.name + " of pool " + pool +
                        (is_listed ? " does not exist" : " was deleted and still exists"));
    }
    for (const TenantRow& tenant : after.tree.tenant_rows()) {
        const TenantPolicy* known = checker_.reference().tenant(tenant.name);
        std::optional<GpuMilli> quota = policy.default_tenant_gpu_maximum;
        if (known != nullptr && known->gpu_maximum) quota = known->gpu_maximum;
        if (tenant.gpu_maximum != quota)
            fail("I28", "namespace " + tenant.name + " has another quota than its policy says");
    }
}

// No node is in two pools.
void ChangeChecks::check_pools(const ClusterState& after) {
    std::map<std::string, std::int64_t> counted;
    for (const auto& [name, node] : nodes_)
        ++counted[node.pool.empty() ? std::string{kDefaultPool} : node.pool];
    for (const PoolRow& pool : after.tree.pool_rows()) {
        if (static_cast<std::int64_t>(pool.nodes) == counted[pool.name]) continue;
        fail("I28", "pool " + pool.name + " has " + std::to_string(pool.nodes) +
                        " nodes instead of " + std::to_string(counted[pool.name]));
    }
}

}  // namespace gpuctl::sim
