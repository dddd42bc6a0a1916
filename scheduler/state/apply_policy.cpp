// What administrators decide: pools, queues, tenants.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// Cannot be the name of a queue: names are DNS labels.
constexpr const char* kSystemQueue = "(system)";

}  // namespace

PoolId ClusterState::pool_named(std::string_view name) {
    if (const auto found = pool_ids_.find(name); found != pool_ids_.end()) return found->second;
    const PoolId id{static_cast<std::uint32_t>(pools_.size())};
    PoolRow row;
    row.name = std::string{name};
    pools_.push_back(std::move(row));
    pool_ids_.emplace(std::string{name}, id);
    (void)queue_named(id, kSystemQueue);
    const QueueId queue = queue_named(id, kDefaultQueue);
    queues_[queue.value()].in_policy = true;  // "default" always exists
    pools_[id.value()].queues.push_back(queue);
    return id;
}

QueueId ClusterState::queue_named(PoolId pool, std::string_view name) {
    const auto [found, is_new] = queue_ids_.try_emplace({pool, std::string{name}});
    if (is_new) {
        found->second = QueueId{static_cast<std::uint32_t>(queues_.size())};
        QueueRow row;
        row.pool = pool;
        row.name = std::string{name};
        queues_.push_back(std::move(row));
    }
    return found->second;
}

TenantId ClusterState::tenant_named(std::string_view name) {
    if (const auto found = tenant_ids_.find(name); found != tenant_ids_.end()) {
        return found->second;
    }
    const TenantId id{static_cast<std::uint32_t>(tenants_.size())};
    TenantRow row;
    row.name = std::string{name};
    apply_tenant_policy(row);
    tenants_.push_back(std::move(row));
    tenant_ids_.emplace(std::string{name}, id);
    return id;
}

void ClusterState::apply_tenant_policy(TenantRow& row) const {
    row.weight = std::max<std::int64_t>(policy_.default_tenant_weight, 1);
    row.gpu_maximum = policy_.default_tenant_gpu_maximum;
    row.cpu_maximum.reset();
    row.memory_maximum.reset();
    row.queue.clear();
    for (const TenantPolicy& tenant : policy_.tenants) {
        if (tenant.name != row.name) continue;
        row.weight = std::max<std::int64_t>(tenant.weight, 1);
        if (tenant.gpu_maximum) row.gpu_maximum = tenant.gpu_maximum;
        row.cpu_maximum = tenant.cpu_maximum;
        row.memory_maximum = tenant.memory_maximum;
        row.queue = tenant.queue;
    }
}

void ClusterState::take_policy(Policy policy) {
    policy_ = std::move(policy);
    capacity_.reserve_pod_slots(std::max<std::int64_t>(policy_.pods_reserved_per_node, 0) -
                                (planted(PlantedBug::pod_slots_off_by_one) ? 1 : 0));
    for (QueueRow& queue : queues_) {
        queue.in_policy = queue.name == kDefaultQueue;
        queue.priority = 0;
        queue.weight = 1;
        queue.guaranteed = GpuMilli{};
        queue.maximum.reset();
        ++queue.shrinks;
    }
    for (PoolRow& pool : pools_) {
        pool.in_policy = false;
        pool.description.clear();
        pool.backfill = {};
    }
    for (const PoolPolicy& wanted : policy_.pools) {
        const PoolId pool = pool_named(wanted.name);
        pools_[pool.value()].in_policy = true;
        pools_[pool.value()].description = wanted.description;
        pools_[pool.value()].backfill = wanted.backfill;
        for (const QueuePolicy& asked : wanted.queues) {
            QueueRow& queue = queues_[queue_named(pool, asked.name).value()];
            queue.in_policy = true;
            queue.priority = asked.priority;
            queue.weight = std::max<std::int64_t>(asked.weight, 1);
            queue.guaranteed = asked.guaranteed;
            queue.maximum = asked.maximum;
        }
    }
    for (PoolRow& pool : pools_) pool.queues.clear();
    for (const auto& [key, id] : queue_ids_) {  // by pool, then name
        if (queues_[id.value()].in_policy) pools_[key.first.value()].queues.push_back(id);
    }
    for (TenantRow& tenant : tenants_) {
        apply_tenant_policy(tenant);
        ++tenant.shrinks;
    }
    if (planted(PlantedBug::forget_gain_on_policy)) return;
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) note_gain(PoolId{pool});
    resolve_all();
}

void ClusterState::on(const PolicyChanged& event, EffectList&) {
    if (event.policy == policy_) return;
    take_policy(event.policy);
}

bool ClusterState::pool_exists(PoolId id) const {
    const PoolRow& pool = pools_[id.value()];
    return pool.nodes > 0 || pool.in_policy || pool.name == kDefaultPool;
}

PoolId ClusterState::find_pool(std::string_view name) const {
    const auto found = pool_ids_.find(name);
    if (found == pool_ids_.end() || !pool_exists(found->second)) return PoolId::none();
    return found->second;
}

QueueId ClusterState::find_queue(PoolId pool, std::string_view name) const {
    const auto found = queue_ids_.find({pool, std::string{name}});
    if (found == queue_ids_.end() || !queues_[found->second.value()].in_policy) {
        return QueueId::none();
    }
    return found->second;
}

QueueId ClusterState::system_queue(PoolId pool) const {
    return queue_ids_.at({pool, std::string{kSystemQueue}});
}

}  // namespace gpuctl
