// What whoever sets the limits could do: raise those in the way, just as far as the job needs.

#include <algorithm>

#include "scheduler/model/quantity.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

// What has to fit: a gang's missing ranks, or one pod.
Load asked(const ClusterState& state, const Readiness& ready) {
    const std::size_t pods =
        ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1;
    Load load;
    for (std::size_t i = 0; i < std::min(pods, ready.pods.size()); ++i) {
        const Shape& shape = state.shapes().at(state.pod(ready.pods[i]).shape);
        load.gpus += shape.gpus;
        load.cpu += shape.cpu;
        load.memory += shape.memory;
    }
    return load;
}

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

std::string gpus(std::int64_t amount) {
    return format_gpus(GpuMilli{amount}) + (amount == kGpuMilliPerGpu ? " GPU" : " GPUs");
}

std::string instead_of(std::int64_t limit) { return " instead of " + format_gpus(GpuMilli{limit}); }

// "the budget of queue dev were 520 GPU-hours instead of 500"; up to the next tenth.
std::string raise_budget(BudgetPolicy& budget, const std::string& whose, const LimitHit& hit) {
    constexpr std::int64_t tenth = kGpuTimePerGpuHour / 10;
    const GpuTime before = budget.amount;
    const std::int64_t wanted = before.value() + hit.held + hit.needed - hit.limit;
    budget.amount = GpuTime{(wanted + tenth - 1) / tenth * tenth};
    return "the budget of " + whose + " were " + format_gpu_hours(budget.amount) +
           " GPU-hours instead of " + format_gpu_hours(before);
}

// "the maximum of queue dev were 20 GPUs instead of 16"; empty: not a limit that one would raise.
std::string raise_queue(QueuePolicy& queue, const std::string& path, const LimitHit& hit) {
    const std::int64_t wanted = hit.held + hit.needed;
    const std::string of = " of queue " + path + " were ";
    switch (hit.kind) {
        case LimitKind::queue_maximum:
            queue.maximum = GpuMilli{wanted};
            return "the maximum" + of + gpus(wanted) + instead_of(hit.limit);
        case LimitKind::queue_borrowing:
            queue.borrowing_limit = GpuMilli{wanted} - queue.guaranteed;
            return "guarantee and borrowing limit" + of + gpus(wanted) + " together" +
                   instead_of(hit.limit);
        case LimitKind::queue_jobs:
            queue.jobs_maximum = wanted;
            return "maxJobs" + of + std::to_string(wanted) + " instead of " +
                   std::to_string(hit.limit);
        case LimitKind::queue_gpus_per_job:
            queue.gpus_per_job_maximum = GpuMilli{wanted};
            return "maxGpuPerJob" + of + format_gpus(GpuMilli{wanted}) + instead_of(hit.limit);
        case LimitKind::queue_budget:
            return raise_budget(*queue.budget, "queue " + path, hit);
        default:
            return "";  // what is kept back for others is theirs
    }
}

std::string raise_tenant(TenantPolicy& tenant, const std::string& pool, const LimitHit& hit) {
    const std::int64_t wanted = hit.held + hit.needed;
    const std::string might = "namespace " + tenant.name + " might hold ";
    switch (hit.kind) {
        case LimitKind::tenant_gpus:
            tenant.gpu_maximum = GpuMilli{wanted};
            return might + gpus(wanted) + instead_of(hit.limit);
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
            return might + gpus(wanted) + " of pool " + pool + instead_of(hit.limit);
        case LimitKind::tenant_budget:
            for (PoolQuota& quota : tenant.pools) {
                if (quota.pool != pool || !quota.budget) continue;
                return raise_budget(*quota.budget, "namespace " + tenant.name + " in pool " + pool,
                                    hit);
            }
            return "";
        default:
            return "";
    }
}

std::string raise(Policy& policy, const ClusterState& state, const JobRow& job,
                  const LimitHit& hit) {
    const std::string& pool = state.pool(job.pool).name;
    if (!hit.queue.exists()) {
        // What is kept back for others is theirs.
        if (hit.kind == LimitKind::pool_lending || hit.kind == LimitKind::pool_reserve) return "";
        return raise_tenant(tenant_in(policy, state.tenant(job.tenant).name), pool, hit);
    }
    QueuePolicy* queue = queue_in(policy, pool, state.queue(hit.queue).name);
    return queue == nullptr ? "" : raise_queue(*queue, state.queue_path(hit.queue), hit);
}

}  // namespace

std::optional<RaisedLimits> raise_limits(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Readiness ready;
    state.read_readiness(id, ready);
    const bool can_be_limited = ready.hold == Reason::none && !ready.pods.empty() &&
                                job.queue.exists() && job.priority < kSystemPriority;
    if (!can_be_limited) return std::nullopt;
    RaisedLimits raised{state.policy(), ""};
    bool all = true;
    visit_limits(state, job, asked(state, ready), [&](const LimitHit& hit) {
        const std::string said = raise(raised.policy, state, job, hit);
        all = all && !said.empty();
        raised.said += (raised.said.empty() ? "" : ", and ") + said;
        return true;
    });
    if (!all || raised.said.empty()) return std::nullopt;
    return raised;
}

std::optional<Remedy> try_higher_limits(Question& question) {
    const ClusterState& state = *question.state();
    const auto raised = raise_limits(state, state.find_job(question.job().key));
    if (!raised) return std::nullopt;
    const Change change = [&](Trial& trial) { trial.happen(PolicyChanged{raised->policy}); };
    if (!question.helps(change)) return std::nullopt;
    return Remedy{ChangeKind::higher_limits, "", 0, "it would start if " + raised->said};
}

}  // namespace gpuctl::whatif
