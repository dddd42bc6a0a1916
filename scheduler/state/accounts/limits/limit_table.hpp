#pragma once
// The limits, one row each. To add one: an enumerator, a row at the same place, and what the
// checklist of CONTRIBUTING.md says of its setting, its counter and its test. The order is that of
// the walk within a scope.
//
// Columns: limit_row.hpp. Only the walker (visit_limits.cpp) and texts about single limits include
// this file; all other code reads hits and rows (limits.hpp).

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "scheduler/state/accounts/budget_book.hpp"
#include "scheduler/state/accounts/limits/limit_figures.hpp"
#include "scheduler/state/accounts/limits/limit_row.hpp"

namespace gpuctl {

enum class LimitKind : std::uint8_t {
    none,
    queue_maximum,
    queue_borrowing,  // above its guarantee
    queue_lending,    // the queue's room is reserved for its other sub-queues
    queue_jobs,
    queue_gpus_per_job,
    queue_budget,  // GPU time of the period
    queue_model_maximum,
    pool_reserve,        // the rest is for work that grows with demand
    pool_lending,        // the pool's GPUs are reserved for other queues
    pool_model_lending,  // GPUs of one model
    tenant_gpus,
    tenant_cpu,
    tenant_memory,
    tenant_pool_gpus,
    tenant_budget  // in a pool
};

namespace limits {

using Figures = std::optional<LimitFigures>;
using Ever = std::optional<LimitEver>;
using Before = std::optional<std::int64_t>;

// A limit of an amount; absent: it is not set.
template <typename Amount>
constexpr Figures within(const std::optional<Amount>& limit, Amount held, Amount needed) {
    if (!limit) return std::nullopt;
    return LimitFigures{limit->value(), held.value(), needed.value()};
}

template <typename Amount>
constexpr Ever at_most(const std::optional<Amount>& limit) {
    if (!limit) return std::nullopt;
    return LimitEver{limit->value()};
}

template <auto Limit>
Ever tenant_at_most(const LimitEverAt& at) {
    return at.tenant ? at_most(at.tenant->*Limit) : std::nullopt;
}

// These set a limit in the policy of a queue, or of a namespace.
template <auto Limit>
Before raise_queue(const LimitRaise& in, std::int64_t to) {
    in.queue->*Limit = typename std::decay_t<decltype(in.queue->*Limit)>::value_type{to};
    return in.hit.limit;
}
template <auto Limit>
Before raise_tenant(const LimitRaise& in, std::int64_t to) {
    in.tenant->*Limit = typename std::decay_t<decltype(in.tenant->*Limit)>::value_type{to};
    return in.hit.limit;
}

inline PoolQuota* quota_in(TenantPolicy& tenant, const std::string& pool) {
    for (PoolQuota& quota : tenant.pools) {
        if (quota.pool == pool) return &quota;
    }
    return nullptr;
}

inline Before raise_budget(std::optional<BudgetPolicy>& budget, std::int64_t to) {
    if (!budget) return std::nullopt;
    return std::exchange(budget->amount, GpuTime{to}).value();
}

}  // namespace limits

// clang-format off
inline constexpr LimitRow kLimits[] = {
    {.kind = LimitKind::queue_maximum, .name = "queue_maximum",
     .scope = LimitScope::queue, .unit = LimitUnit::gpus, .reason = Reason::queue_limit,
     .is_within_parents = true, .is_estimated = true,
     .read = [](const LimitAt& at) { return limits::within(at.row->maximum, at.held, at.ask.gpus); },
     .ever = [](const LimitEverAt& at) { return limits::at_most(at.state.queue(at.queue).cap()); },
     .raise = limits::raise_queue<&QueuePolicy::maximum>},
    {.kind = LimitKind::queue_borrowing, .name = "queue_borrowing",
     .scope = LimitScope::queue, .unit = LimitUnit::gpus, .reason = Reason::queue_limit, .rule = fact::LimitRule::guarantee_and_borrowing,
     .is_estimated = true,
     .read = [](const LimitAt& at) -> limits::Figures {
         if (!at.row->borrowing_limit) return std::nullopt;
         const GpuMilli most = at.row->guaranteed + *at.row->borrowing_limit;
         return LimitFigures{most.value(), at.held.value(), at.ask.gpus.value()};
     },
     .raise = [](const LimitRaise& in, std::int64_t to) -> limits::Before {
         in.queue->borrowing_limit = GpuMilli{to} - in.queue->guaranteed;
         return in.hit.limit;
     }},
    {.kind = LimitKind::queue_lending, .name = "queue_lending",
     .scope = LimitScope::queue, .unit = LimitUnit::gpus, .reason = Reason::queue_limit, .rule = fact::LimitRule::reserved_for_siblings,
     .is_lending = true,
     // Reported only if more is reserved than held: otherwise the two limits above report the same.
     .read = [](const LimitAt& at) -> limits::Figures {
         const auto cap = at.row->cap();
         if (!cap) return std::nullopt;
         const LimitFigures plain{cap->value(), at.held.value(), at.ask.gpus.value()};
         if (at.held_or_reserved == at.held && plain.are_crossed()) return std::nullopt;
         return LimitFigures{cap->value(), at.held_or_reserved.value(), at.ask.gpus.value(), at.grows.value()};
     },
     .ever = [](const LimitEverAt& at) -> limits::Ever {
         const auto cap = at.state.queue(at.queue).cap();
         const GpuMilli reserved = limits::reserved_when_idle(at.state, at.pool, at.leaf, at.queue);
         if (!cap || reserved == GpuMilli{}) return std::nullopt;
         return LimitEver{std::max(*cap - reserved, GpuMilli{}).value(), reserved, *cap};
     }},
    {.kind = LimitKind::queue_jobs, .name = "queue_jobs",
     .scope = LimitScope::queue, .unit = LimitUnit::jobs, .reason = Reason::queue_limit, .rule = fact::LimitRule::jobs_at_once,
     .is_estimated = true,
     .read = [](const LimitAt& at) -> limits::Figures {
         if (!at.row->jobs_maximum || at.pods_charged != 0) return std::nullopt;
         const std::int64_t gone = at.released ? at.released->jobs_of(at.queue) : 0;
         return LimitFigures{*at.row->jobs_maximum, at.row->jobs_held - gone, 1};
     },
     .raise = limits::raise_queue<&QueuePolicy::jobs_maximum>},
    {.kind = LimitKind::queue_gpus_per_job, .name = "queue_gpus_per_job",
     .scope = LimitScope::queue, .unit = LimitUnit::gpus, .reason = Reason::queue_limit, .rule = fact::LimitRule::gpus_per_job,
     .freed = LimitFreed::by_nothing,
     .read = [](const LimitAt& at) {
         return limits::within(at.row->gpus_per_job_maximum, at.gpus_held, at.ask.gpus);
     },
     .ever = [](const LimitEverAt& at) {
         return limits::at_most(at.state.queue(at.queue).gpus_per_job_maximum);
     },
     .raise = limits::raise_queue<&QueuePolicy::gpus_per_job_maximum>},
    {.kind = LimitKind::queue_budget, .name = "queue_budget",
     .scope = LimitScope::queue, .unit = LimitUnit::gpu_time, .reason = Reason::budget_spent,
     .freed = LimitFreed::by_new_period, .is_estimated = true,
     .read = [](const LimitAt& at) -> limits::Figures {
         if (at.state.accounts.budgets().queues().empty()) return std::nullopt;
         return limits::budget_figures(at.state.accounts.budgets().of(at.queue), at,
                                       at.released ? at.released->of_budget(at.queue) : GpuTime{});
     },
     .raise = [](const LimitRaise& in, std::int64_t to) {
         return limits::raise_budget(in.queue->budget, to);
     }},
    {.kind = LimitKind::queue_model_maximum, .name = "queue_model_maximum",
     .scope = LimitScope::queue_model, .unit = LimitUnit::gpus, .reason = Reason::queue_limit,
     .read = [](const LimitAt& at) -> limits::Figures {
         const ModelLimit& of = at.holding->limit;
         if (!of.maximum) return std::nullopt;
         const GpuMilli gone = at.released ? at.released->of_model(at.queue, of.model) : GpuMilli{};
         return limits::within(of.maximum, at.holding->held - gone, at.ask.gpus);
     },
     .ever = [](const LimitEverAt& at) -> limits::Ever {
         const ModelLimit& of = at.holding->limit;
         if (!same_gpu_model(of.model, at.model)) return std::nullopt;
         return limits::at_most(of.maximum);
     },
     .raise = [](const LimitRaise& in, std::int64_t to) -> limits::Before {
         for (ModelLimit& limit : in.queue->models) {
             if (limit.model != in.hit.model) continue;
             limit.maximum = GpuMilli{to};
             return in.hit.limit;
         }
         return std::nullopt;
     }},
    {.kind = LimitKind::pool_reserve, .name = "pool_reserve",
     .scope = LimitScope::pool, .unit = LimitUnit::gpus, .reason = Reason::reserved_for_growth, .rule = fact::LimitRule::reserved_for_growth,
     .is_estimated = true,
     .read = limits::reserve_figures,
     .ever = [](const LimitEverAt& at) -> limits::Ever {
         const PoolRow& pool = at.state.pool(at.pool);
         const GpuMilli reserve = pool.reserve();
         if (reserve <= GpuMilli{} || grows_with_demand(at.spec, 0)) return std::nullopt;
         return LimitEver{(pool.offered.gpus - reserve).value(), reserve, pool.offered.gpus};
     }},
    {.kind = LimitKind::pool_lending, .name = "pool_lending",
     .scope = LimitScope::pool, .unit = LimitUnit::gpus, .reason = Reason::queue_limit, .rule = fact::LimitRule::reserved_for_queues,
     .is_lending = true,
     .read = limits::pool_lending_figures,
     .ever = [](const LimitEverAt& at) -> limits::Ever {
         const GpuMilli most = limits::gpus_of_nodes(at.state, at.pool);
         const GpuMilli reserved =
             limits::reserved_when_idle(at.state, at.pool, at.leaf, QueueId::none());
         if (reserved == GpuMilli{}) return std::nullopt;
         return LimitEver{std::max(most - reserved, GpuMilli{}).value(), reserved, most};
     }},
    {.kind = LimitKind::pool_model_lending, .name = "pool_model_lending",
     .scope = LimitScope::pool_model, .unit = LimitUnit::gpus, .reason = Reason::queue_limit, .rule = fact::LimitRule::reserved_for_queues,
     .is_lending = true,
     .read = [](const LimitAt& at) {
         return limits::model_lending_figures(at.state, at.job, *at.room, at.ask.gpus, at.released);
     }},
    {.kind = LimitKind::tenant_gpus, .name = "tenant_gpus",
     .scope = LimitScope::tenant, .unit = LimitUnit::gpus, .reason = Reason::tenant_quota, .rule = fact::LimitRule::tenant_maximum,
     .is_estimated = true,
     .read = [](const LimitAt& at) {
         const TenantRow& tenant = at.state.tenant(at.job.tenant);
         return limits::within(tenant.gpu_maximum, tenant.gpus_held - at.tenant_released.gpus,
                               at.ask.gpus);
     },
     .ever = [](const LimitEverAt& at) {
         const bool is_own = at.tenant && at.tenant->gpu_maximum;
         return limits::at_most(is_own ? at.tenant->gpu_maximum
                                       : at.state.policy().default_tenant_gpu_maximum);
     },
     .raise = limits::raise_tenant<&TenantPolicy::gpu_maximum>},
    {.kind = LimitKind::tenant_cpu, .name = "tenant_cpu",
     .scope = LimitScope::tenant, .unit = LimitUnit::cpu, .reason = Reason::tenant_quota, .rule = fact::LimitRule::tenant_maximum,
     .read = [](const LimitAt& at) {
         const TenantRow& tenant = at.state.tenant(at.job.tenant);
         return limits::within(tenant.cpu_maximum, tenant.cpu_held - at.tenant_released.cpu,
                               at.ask.cpu);
     },
     .ever = limits::tenant_at_most<&TenantPolicy::cpu_maximum>,
     .raise = limits::raise_tenant<&TenantPolicy::cpu_maximum>},
    {.kind = LimitKind::tenant_memory, .name = "tenant_memory",
     .scope = LimitScope::tenant, .unit = LimitUnit::memory, .reason = Reason::tenant_quota, .rule = fact::LimitRule::tenant_maximum,
     .read = [](const LimitAt& at) {
         const TenantRow& tenant = at.state.tenant(at.job.tenant);
         return limits::within(tenant.memory_maximum,
                               tenant.memory_held - at.tenant_released.memory, at.ask.memory);
     },
     .ever = limits::tenant_at_most<&TenantPolicy::memory_maximum>,
     .raise = limits::raise_tenant<&TenantPolicy::memory_maximum>},
    {.kind = LimitKind::tenant_pool_gpus, .name = "tenant_pool_gpus",
     .scope = LimitScope::tenant, .unit = LimitUnit::gpus, .reason = Reason::tenant_quota, .rule = fact::LimitRule::pool_quota,
     .is_of_one_pool = true, .is_estimated = true,
     .read = [](const LimitAt& at) {
         const GpuMilli held = at.state.tree.held_in_pool(at.job.tenant, at.job.pool);
         const GpuMilli gone =
             at.released ? at.released->of_tenant(at.job.tenant, at.job.pool) : GpuMilli{};
         return limits::within(at.state.tree.pool_quota(at.job.tenant, at.job.pool), held - gone,
                               at.ask.gpus);
     },
     .ever = [](const LimitEverAt& at) -> limits::Ever {
         if (at.tenant == nullptr) return std::nullopt;
         for (const PoolQuota& quota : at.tenant->pools) {
             if (quota.pool == at.state.pool(at.pool).name) return limits::at_most(quota.gpu_maximum);
         }
         return std::nullopt;
     },
     .raise = [](const LimitRaise& in, std::int64_t to) -> limits::Before {
         if (PoolQuota* quota = limits::quota_in(*in.tenant, in.pool)) quota->gpu_maximum = GpuMilli{to};
         return in.hit.limit;
     }},
    {.kind = LimitKind::tenant_budget, .name = "tenant_budget",
     .scope = LimitScope::tenant, .unit = LimitUnit::gpu_time, .reason = Reason::budget_spent,
     .freed = LimitFreed::by_new_period, .is_of_one_pool = true, .is_estimated = true,
     .read = [](const LimitAt& at) -> limits::Figures {
         if (at.state.accounts.budgets().tenants().empty()) return std::nullopt;
         const GpuTime gone =
             at.released ? at.released->of_budget(at.job.tenant, at.job.pool) : GpuTime{};
         return limits::budget_figures(at.state.accounts.budgets().of(at.job.tenant, at.job.pool), at, gone);
     },
     .raise = [](const LimitRaise& in, std::int64_t to) -> limits::Before {
         PoolQuota* quota = limits::quota_in(*in.tenant, in.pool);
         if (quota == nullptr) return std::nullopt;
         return limits::raise_budget(quota->budget, to);
     }},
};
// clang-format on

}  // namespace gpuctl
