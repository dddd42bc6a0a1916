// I8 between two jobs of one queue: by namespace quota, priority, namespace share and age, in the
// order that the queue's policy states.

#include <algorithm>
#include <tuple>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::compare_jobs(const PlacedJob& first, const PlacedJob& later, const Held& held) {
    const QueueOrder order = reference_.order_of(reference_.queue_of(first.pod));
    const std::string what = placed_before(first.job, later.job);
    const bool is_one_tenant = first.job.namespace_name == later.job.namespace_name;
    if (order == QueueOrder::capacity && !is_one_tenant &&
        is_decided_by_quota(first, later, held)) {
        return;
    }
    if (order != QueueOrder::fifo) {
        const std::int64_t x = reference_.aged(first.pod.priority, first.submitted_at);
        const std::int64_t y = reference_.aged(later.pod.priority, later.submitted_at);
        if (x < y) fail("I8", what + "which has a higher priority");
        if (x != y) return;
    }
    if (order == QueueOrder::shortest) return;  // by predicted run times
    if (order == QueueOrder::fair_share && !is_one_tenant &&
        is_decided_by_share(first, later, held)) {
        return;
    }
    if (std::tie(later.submitted_at, later.arrival) < std::tie(first.submitted_at, first.arrival)) {
        fail("I8", what + "which was submitted earlier");
    }
}

bool Checker::is_decided_by_quota(const PlacedJob& first, const PlacedJob& later,
                                  const Held& held) {
    const std::string pool = reference_.queue_of(first.pod).pool;
    const std::string& tenant_a = first.job.namespace_name;
    const std::string& tenant_b = later.job.namespace_name;
    const auto quota = [&](const std::string& tenant) {
        std::int64_t most = reference_.offered(pool).gpus;
        if (const TenantPolicy* known = reference_.tenant(tenant)) {
            for (const PoolQuota& of : known->pools) {
                if (of.pool == pool && of.gpu_maximum) most = of.gpu_maximum->value();
            }
        }
        return std::max<std::int64_t>(most, 1);
    };
    const auto held_in_pool = [&](const std::string& tenant) {
        std::int64_t sum = 0;
        for (const auto& [name, by_tenant] : held) {
            if (name.pool != pool || !reference_.exists(name)) continue;
            if (by_tenant.contains(tenant)) sum += by_tenant.at(tenant).gpus;
        }
        return sum;
    };
    const std::int64_t held_a = held_in_pool(tenant_a);
    const std::int64_t held_b = held_in_pool(tenant_b);
    if (has_more(held_a, quota(tenant_a), held_b, quota(tenant_b))) {
        fail("I8", placed_before(first.job, later.job) + "whose namespace had less of its quota");
        return true;
    }
    return has_more(held_b, quota(tenant_b), held_a, quota(tenant_a));
}

bool Checker::is_decided_by_share(const PlacedJob& first, const PlacedJob& later,
                                  const Held& held) {
    const QueueName queue = reference_.queue_of(first.pod);
    const std::string& tenant_a = first.job.namespace_name;
    const std::string& tenant_b = later.job.namespace_name;
    const std::string what = placed_before(first.job, later.job);
    const auto held_by = [&](const std::string& tenant) {
        const auto of = held.find(queue);
        if (of == held.end() || !of->second.contains(tenant)) return Amounts{};
        return of->second.at(tenant);
    };
    const auto weight = [this](const std::string& tenant) {
        const TenantPolicy* known = reference_.tenant(tenant);
        return known ? known->weight : reference_.policy.default_tenant_weight;
    };
    const std::int64_t x = reference_.share(queue, tenant_a, held_by(tenant_a));
    const std::int64_t y = reference_.share(queue, tenant_b, held_by(tenant_b));
    if (has_more(x, weight(tenant_a), y, weight(tenant_b))) {
        fail("I8", what + "whose namespace had less for its weight");
        return true;
    }
    if (has_more(y, weight(tenant_b), x, weight(tenant_a))) return true;
    const std::int64_t recent_x = reference_.share_in_this_tick(queue, tenant_a);
    const std::int64_t recent_y = reference_.share_in_this_tick(queue, tenant_b);
    if (has_more(recent_x, weight(tenant_a), recent_y, weight(tenant_b))) {
        fail("I8", what + "whose namespace had less recent usage for its weight");
        return true;
    }
    return has_more(recent_y, weight(tenant_b), recent_x, weight(tenant_a));
}

}  // namespace gpuctl::sim
