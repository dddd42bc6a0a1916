// The policy of the administrators: pools, queues, tenants.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// No queue can have this name: names are DNS labels.
constexpr const char* kSystemQueue = "(system)";

}  // namespace

PoolId QueueTree::pool_named(std::string_view name) {
    if (const auto found = pool_ids_.find(name); found != pool_ids_.end()) return found->second;
    const PoolId id{static_cast<std::uint32_t>(pools_.size())};
    PoolRow row;
    row.name = std::string{name};
    pools_.add(std::move(row), {});
    pool_ids_.emplace(std::string{name}, id);
    (void)queue_named(id, kSystemQueue);
    const QueueId queue = queue_named(id, kDefaultQueue);
    queues_.base(queue, {}).in_policy = true;  // "default" always exists
    pools_.base(id, {}).queues.push_back(queue);
    pools_.base(id, {}).roots.push_back(queue);
    return id;
}

QueueId QueueTree::queue_named(PoolId pool, std::string_view name) {
    const auto [found, is_new] = queue_ids_.try_emplace({pool, std::string{name}});
    if (is_new) {
        found->second = QueueId{static_cast<std::uint32_t>(queues_.size())};
        QueueRow row;
        row.pool = pool;
        row.name = std::string{name};
        queues_.add(std::move(row), {});
    }
    return found->second;
}

TenantId QueueTree::tenant_named(std::string_view name) {
    if (const auto found = tenant_ids_.find(name); found != tenant_ids_.end()) {
        return found->second;
    }
    const TenantId id{static_cast<std::uint32_t>(tenants_.size())};
    TenantRow row;
    row.name = std::string{name};
    apply_tenant_policy(row);
    tenants_.add(std::move(row), {});
    tenant_ids_.emplace(std::string{name}, id);
    return id;
}

void QueueTree::apply_tenant_policy(TenantBase& row) const {
    row.weight = std::max<std::int64_t>(state_.session.policy().default_tenant_weight, 1);
    if (!has_fault(SeededFault::keep_deleted_quotas) || !row.gpu_maximum)
        row.gpu_maximum = state_.session.policy().default_tenant_gpu_maximum;
    row.cpu_maximum.reset();
    row.memory_maximum.reset();
    row.queue.clear();
    row.pool_quotas.clear();
    for (const TenantPolicy& tenant : state_.session.policy().tenants) {
        if (tenant.name != row.name) continue;
        row.weight = std::max<std::int64_t>(tenant.weight, 1);
        if (tenant.gpu_maximum) row.gpu_maximum = tenant.gpu_maximum;
        row.cpu_maximum = tenant.cpu_maximum;
        row.memory_maximum = tenant.memory_maximum;
        row.queue = tenant.queue;
        for (const PoolQuota& quota : tenant.pools) {
            const auto pool = pool_ids_.find(quota.pool);  // take_policy() made it
            if (pool != pool_ids_.end() && quota.gpu_maximum) {
                row.pool_quotas.emplace_back(pool->second, *quota.gpu_maximum);
            }
        }
    }
}

void QueueTree::apply_queue_policy(QueueBase& row, const QueuePolicy& asked) {
    row.order = asked.order;
    row.priority = asked.priority;
    row.weight = std::max<std::int64_t>(asked.weight, 1);
    row.guaranteed = std::max(asked.guaranteed, GpuMilli{});
    row.maximum = asked.maximum;
    row.borrowing_limit = asked.borrowing_limit;
    row.not_lent = GpuMilli{};
    if (asked.lending_limit) {
        row.not_lent = std::max(row.guaranteed - *asked.lending_limit, GpuMilli{});
    }
    row.jobs_maximum = asked.jobs_maximum;
    row.gpus_per_job_maximum = asked.gpus_per_job_maximum;
    row.models.clear();
    for (const ModelLimit& limit : asked.models) {
        ModelHolding& model = row.models.emplace_back();
        model.limit = limit;
        model.limit.guaranteed = std::max(limit.guaranteed, GpuMilli{});
        if (!asked.lending_limit) continue;
        model.not_lent = std::max(model.limit.guaranteed - *asked.lending_limit, GpuMilli{});
    }
}

void QueueTree::clear_policy() {
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        QueueBase& queue = queues_.base(QueueId{i}, {});
        QueuePolicy nothing;
        nothing.name = queue.name;
        apply_queue_policy(queue, nothing);
        queue.in_policy = queue.name == kDefaultQueue ||
                          (queue.in_policy && has_fault(SeededFault::keep_deleted_queues));
        queue.is_beyond_guarantee = false;
        ++queue.shrinks;
    }
    for (std::uint32_t i = 0; i < pools_.size(); ++i) {
        PoolBase& pool = pools_.base(PoolId{i}, {});
        pool.in_policy = false;
        pool.description.clear();
        pool.backfill = {};
        pool.preemption = {};
        pool.reserve_percent = 0;
        pool.reserve_gpus = GpuMilli{};
        pool.order = QueueOrder::fair_share;
    }
}

void QueueTree::apply_pool_policy(const PoolPolicy& wanted) {
    const PoolId id = pool_named(wanted.name);
    PoolBase& pool = pools_.base(id, {});
    pool.in_policy = true;
    pool.description = wanted.description;
    pool.backfill = wanted.backfill;
    pool.preemption = wanted.preemption;
    pool.order = wanted.order;
    pool.reserve_percent = wanted.reserve_percent;
    pool.reserve_gpus = wanted.reserve_gpus;
    for (const QueuePolicy& asked : wanted.queues) {
        QueueBase& queue = queues_.base(queue_named(id, asked.name), {});
        queue.in_policy = true;
        apply_queue_policy(queue, asked);
    }
}

void QueueTree::take_policy(Policy policy) {
    const Duration half_life_before = state_.session.policy().usage_half_life;
    state_.session.set_policy(std::move(policy));
    state_.nodes.reserve_pod_slots(
        std::max<std::int64_t>(state_.session.policy().pods_reserved_per_node, 0) -
        (has_fault(SeededFault::pod_slots_off_by_one) ? 1 : 0));
    clear_policy();
    for (const TenantPolicy& tenant : state_.session.policy().tenants) {
        for (const PoolQuota& quota : tenant.pools) (void)pool_named(quota.pool);
    }
    for (const PoolPolicy& wanted : state_.session.policy().pools) apply_pool_policy(wanted);
    for (std::uint32_t i = 0; i < pools_.size(); ++i) pools_.base(PoolId{i}, {}).queues.clear();
    for (const auto& [key, id] : queue_ids_) {  // by pool, then name
        if (queues_[id.value()].in_policy) pools_.base(key.first, {}).queues.push_back(id);
    }
    state_.accounts.start_usage_clock(half_life_before);
    state_.maintenance.take_windows();
    rebuild_tree();
    state_.evictions.relist_stoppable();
    state_.run_times.recount_work();
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
        TenantBase& tenant = tenants_.base(TenantId{i}, {});
        apply_tenant_policy(tenant);
        if (!has_fault(SeededFault::forget_gain_on_quota)) ++tenant.shrinks;
    }
    state_.accounts.take_budgets();
    if (has_fault(SeededFault::forget_gain_on_policy)) return;
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) note_gain(PoolId{pool});
    state_.jobs.resolve_all();
}

void QueueTree::on(const PolicyChanged& event, EffectList&) {
    if (event.policy == state_.session.policy()) return;
    take_policy(event.policy);
}

bool QueueTree::pool_exists(PoolId id) const {
    const PoolRow& pool = pools_[id.value()];
    return pool.nodes > 0 || pool.in_policy || pool.name == kDefaultPool;
}

PoolId QueueTree::find_pool(std::string_view name) const {
    const auto found = pool_ids_.find(name);
    if (found == pool_ids_.end() || !pool_exists(found->second)) return PoolId::none();
    return found->second;
}

QueueId QueueTree::find_queue(PoolId pool, std::string_view name) const {
    const auto found = queue_ids_.find({pool, std::string{name}});
    if (found == queue_ids_.end() || !queues_[found->second.value()].in_policy) {
        return QueueId::none();
    }
    return found->second;
}

QueueId QueueTree::system_queue(PoolId pool) const {
    return queue_ids_.at({pool, std::string{kSystemQueue}});
}

}  // namespace gpuctl
