// A policy with raised limits.

#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

struct Raised {
    const LimitHit& hit;
    std::int64_t to;
};

TenantPolicy& tenant_in(Policy& policy, const std::string& name) {
    for (TenantPolicy& tenant : policy.tenants) {
        if (tenant.name == name) return tenant;
    }
    TenantPolicy fresh;
    fresh.name = name;
    fresh.weight = policy.default_tenant_weight;
    fresh.gpu_maximum = policy.default_tenant_gpu_maximum;
    return policy.tenants.emplace_back(std::move(fresh));
}

QueuePolicy* queue_in(Policy& policy, const std::string& pool, const std::string& name) {
    for (PoolPolicy& one : policy.pools) {
        for (QueuePolicy& queue : one.queues) {
            if (one.name == pool && queue.name == name) return &queue;
        }
    }
    return nullptr;
}

// Nothing: the policy does not set that limit.
std::optional<change::RaisedLimit> raise_one(Policy& policy, const ClusterState& state,
                                             const JobRow& job, const Raised& raised) {
    const LimitHit& hit = raised.hit;
    const LimitRow& row = limit_row(hit.kind);
    const std::string& pool = state.pool(job.pool).name;
    LimitRaise in{hit, nullptr, nullptr, pool};
    fact::LimitHolder holder;
    if (hit.queue.exists()) {
        in.queue = queue_in(policy, pool, state.queue(hit.queue).name);
        holder.queue = state.tree.queue_path(hit.queue);
    } else {
        in.tenant = &tenant_in(policy, state.tenant(job.tenant).name);
        holder.tenant = in.tenant->name;
        if (row.is_of_one_pool) holder.pool = pool;
    }
    if (row.raise == nullptr || (in.queue == nullptr && in.tenant == nullptr)) return std::nullopt;
    const std::optional<std::int64_t> before = row.raise(in, raised.to);
    if (!before) return std::nullopt;
    return change::RaisedLimit{std::move(holder),      row.rule,  row.unit,
                               std::string{hit.model}, raised.to, *before};
}

// The largest amount below the limits of the queues above. A configuration with a larger amount is
// refused.
std::int64_t most_below_others(const ClusterState& state, const std::vector<LimitInWay>& limits,
                               const std::vector<std::int64_t>& amounts, std::size_t which) {
    std::int64_t most = amounts[which];
    const LimitRow& row = limit_row(limits[which].hit.kind);
    if (!row.is_within_parents) return most;
    for (QueueId id = state.queue(limits[which].hit.queue).parent; id.exists();
         id = state.queue(id).parent) {
        std::optional<std::int64_t> above;
        if (state.queue(id).maximum) above = state.queue(id).maximum->value();
        for (std::size_t i = 0; i < limits.size(); ++i) {
            const LimitHit& hit = limits[i].hit;
            if (&limit_row(hit.kind) == &row && hit.queue == id) above = amounts[i];
        }
        most = std::min(most, above.value_or(most));
    }
    return most;
}

}  // namespace

RaisedLimits raise(const ClusterState& state, JobId id, const std::vector<LimitInWay>& limits,
                   const Levels& levels) {
    std::vector<std::int64_t> amounts;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        const std::int64_t level = levels[i] == kNotRaised ? 0 : levels[i];
        amounts.push_back(limits[i].least + level * limits[i].unit);
    }
    RaisedLimits out{state.policy(), {}};
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (levels[i] == kNotRaised) continue;
        const std::int64_t to = most_below_others(state, limits, amounts, i);
        auto raised = raise_one(out.policy, state, state.job(id), {limits[i].hit, to});
        if (raised) out.limits.push_back(std::move(*raised));
    }
    return out;
}

}  // namespace gpuctl::whatif
