// A policy in which the limits in a job's way are raised, and how one says so.

#include <algorithm>

#include "scheduler/model/quantity.hpp"
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

std::string instead_of(std::int64_t limit) { return " instead of " + format_gpus(GpuMilli{limit}); }

// "the budget of queue dev were 520.25 GPU-hours instead of 500".
std::string raise_budget(BudgetPolicy& budget, const std::string& whose, std::int64_t wanted) {
    const GpuTime before = budget.amount;
    budget.amount = GpuTime{wanted};
    return "the budget of " + whose + " were " + exact_gpu_hours(budget.amount) +
           " GPU-hours instead of " + exact_gpu_hours(before);
}

std::string raise_model(QueuePolicy& queue, const std::string& path, const Raised& raised) {
    for (ModelLimit& limit : queue.models) {
        if (limit.model != raised.hit.model) continue;
        limit.maximum = GpuMilli{raised.to};
        return "the maximum of queue " + path + " of " + limit.model + " were " +
               gpus_text(GpuMilli{raised.to}) + instead_of(raised.hit.limit);
    }
    return "";
}

// "the maximum of queue dev were 20 GPUs instead of 16"; empty: not a limit that one would raise.
std::string raise_queue(QueuePolicy& queue, const std::string& path, const Raised& raised) {
    const auto& [hit, wanted] = raised;
    const std::string of = " of queue " + path + " were ";
    switch (hit.kind) {
        case LimitKind::queue_maximum:
            queue.maximum = GpuMilli{wanted};
            return "the maximum" + of + gpus_text(GpuMilli{wanted}) + instead_of(hit.limit);
        case LimitKind::queue_borrowing:
            queue.borrowing_limit = GpuMilli{wanted} - queue.guaranteed;
            return "guarantee and borrowing limit" + of + gpus_text(GpuMilli{wanted}) +
                   " together" + instead_of(hit.limit);
        case LimitKind::queue_jobs:
            queue.jobs_maximum = wanted;
            return "maxJobs" + of + std::to_string(wanted) + " instead of " +
                   std::to_string(hit.limit);
        case LimitKind::queue_gpus_per_job:
            queue.gpus_per_job_maximum = GpuMilli{wanted};
            return "maxGpuPerJob" + of + format_gpus(GpuMilli{wanted}) + instead_of(hit.limit);
        case LimitKind::queue_budget:
            return raise_budget(*queue.budget, "queue " + path, wanted);
        case LimitKind::queue_model_maximum:
            return raise_model(queue, path, raised);
        default:
            return "";  // what is kept back for others is theirs
    }
}

std::string raise_tenant(TenantPolicy& tenant, const std::string& pool, const Raised& raised) {
    const auto& [hit, wanted] = raised;
    const std::string might = "namespace " + tenant.name + " might hold ";
    switch (hit.kind) {
        case LimitKind::tenant_gpus:
            tenant.gpu_maximum = GpuMilli{wanted};
            return might + gpus_text(GpuMilli{wanted}) + instead_of(hit.limit);
        case LimitKind::tenant_cpu:
            tenant.cpu_maximum = CpuMilli{wanted};
            return might + format_cpu(CpuMilli{wanted}) + " CPU instead of " +
                   format_cpu(CpuMilli{hit.limit});
        case LimitKind::tenant_memory:
            tenant.memory_maximum = Bytes{wanted};
            return might + format_bytes(Bytes{wanted}) + " memory instead of " +
                   format_bytes(Bytes{hit.limit});
        case LimitKind::tenant_pool_gpus:
            for (PoolQuota& quota : tenant.pools) {
                if (quota.pool == pool) quota.gpu_maximum = GpuMilli{wanted};
            }
            return might + gpus_text(GpuMilli{wanted}) + " of pool " + pool + instead_of(hit.limit);
        case LimitKind::tenant_budget:
            for (PoolQuota& quota : tenant.pools) {
                if (quota.pool != pool || !quota.budget) continue;
                return raise_budget(*quota.budget, "namespace " + tenant.name + " in pool " + pool,
                                    wanted);
            }
            return "";
        default:
            return "";
    }
}

std::string raise_one(Policy& policy, const ClusterState& state, const JobRow& job,
                      const Raised& raised) {
    const std::string& pool = state.pool(job.pool).name;
    const LimitHit& hit = raised.hit;
    if (!hit.queue.exists()) {
        return raise_tenant(tenant_in(policy, state.tenant(job.tenant).name), pool, raised);
    }
    QueuePolicy* queue = queue_in(policy, pool, state.queue(hit.queue).name);
    return queue == nullptr ? "" : raise_queue(*queue, state.queue_path(hit.queue), raised);
}

// A queue may be given no more than those above it: a configuration that says so is refused.
std::int64_t most_below_others(const ClusterState& state, const std::vector<LimitInWay>& limits,
                               const std::vector<std::int64_t>& amounts, std::size_t which) {
    std::int64_t most = amounts[which];
    if (limits[which].hit.kind != LimitKind::queue_maximum) return most;
    for (QueueId id = state.queue(limits[which].hit.queue).parent; id.exists();
         id = state.queue(id).parent) {
        std::optional<std::int64_t> above;
        if (state.queue(id).maximum) above = state.queue(id).maximum->value();
        for (std::size_t i = 0; i < limits.size(); ++i) {
            const LimitHit& hit = limits[i].hit;
            if (hit.kind == LimitKind::queue_maximum && hit.queue == id) above = amounts[i];
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
    RaisedLimits out{state.policy(), ""};
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (levels[i] == kNotRaised) continue;
        const std::int64_t to = most_below_others(state, limits, amounts, i);
        out.said += (out.said.empty() ? "" : ", and ") +
                    raise_one(out.policy, state, state.job(id), {limits[i].hit, to});
    }
    return out;
}

}  // namespace gpuctl::whatif
