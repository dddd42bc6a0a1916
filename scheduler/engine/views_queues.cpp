// Queues as people see them: the tree of each pool, a queue before those below it.

#include <algorithm>

#include "scheduler/engine/view_parts.hpp"
#include "scheduler/policy/entitlement.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl {
namespace {

Load used_of(const Usage& usage) {
    const UsageAmounts& mean = usage.mean;
    return {GpuMilli{mean[0] / kUsageUnit}, CpuMilli{mean[1] / kUsageUnit},
            Bytes{(mean[2] / kUsageUnit) << 20}};
}

BudgetView view_of(const ClusterState& state, const Budget& budget) {
    const Spending& spending = budget.spending;
    const Instant now = state.now();
    return {"",
            budget.policy,
            spending.period(),
            spending.carried(),
            spending.used(now),
            spending.committed(now)};
}

QueueView view_of(const ClusterState& state, QueueId id) {
    const QueueRow& queue = state.queue(id);
    QueueView view;
    view.pool = state.pool(queue.pool).name;
    view.name = queue.name;
    view.path = state.queue_path(id);
    view.parent = queue.parent.exists() ? state.queue(queue.parent).name : "";
    view.depth = queue.depth;
    view.holds_queues = !queue.children.empty();
    view.order = queue.order;
    view.priority = queue.priority;
    view.weight = queue.weight;
    view.guaranteed = queue.guaranteed;
    view.is_beyond_guarantee = queue.is_beyond_guarantee;
    view.maximum = queue.maximum;
    view.borrowing_limit = queue.borrowing_limit;
    view.keeps = queue.keeps;
    view.jobs_maximum = queue.jobs_maximum;
    view.gpus_per_job_maximum = queue.gpus_per_job_maximum;
    view.models = queue.models;
    if (const Budget* budget = state.budgets().of(id)) view.budget = view_of(state, *budget);
    view.held = queue.account.held.gpus;
    const Usage usage = state.usage_of(queue.account);
    view.used = used_of(usage);
    view.share = dominant_share(queue.account.held, usage, state.pool(queue.pool).offered);
    return view;
}

// What the job's own pods add to what waits and runs in its queue.
void count_work(const ClusterState& state, const JobRow& job, view_parts::Work& work) {
    bool waits = false;
    bool runs = false;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state.pod(pod_id);
        if (pod.standing == PodStanding::claimed) {
            work.gpus_claimed += state.shapes().at(pod.shape).gpus;
        }
        if (pod.facts.terminating) continue;
        if (pod.standing == PodStanding::waiting) {
            waits = true;
            work.gpus_waiting += state.shapes().at(pod.shape).gpus;
        }
        runs = runs || pod.standing == PodStanding::bound || pod.standing == PodStanding::assumed;
    }
    if (waits) ++work.jobs_waiting;
    if (runs) ++work.jobs_running;
}

// Queues that jobs name and no policy declares: a mistyped one, or one that was taken out of the
// configuration while it held something. What they hold would otherwise be nowhere to be seen.
void add_undeclared(const ClusterState& state, PoolId pool, std::vector<QueueView>& out) {
    std::map<std::string, QueueView> found;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.queue.exists() || job.pool != pool || job.pods.empty()) continue;
        view_parts::Work work;
        count_work(state, job, work);
        GpuMilli held;
        for (const PodId pod : job.pods) {
            if (state.pod(pod).node.exists()) held += state.shapes().at(state.pod(pod).shape).gpus;
        }
        QueueView& view = found[state.queue_name_of(job)];
        view.held += held - work.gpus_claimed;
        view.claimed += work.gpus_claimed;
        view.jobs_waiting += work.jobs_waiting;
        view.jobs_running += work.jobs_running;
        view.gpus_waiting += work.gpus_waiting;
    }
    for (auto& [name, view] : found) {
        if (view.jobs_waiting == 0 && view.jobs_running == 0 && view.held == GpuMilli{}) continue;
        view.pool = state.pool(pool).name;
        view.name = view.path = name;
        view.is_declared = false;
        out.push_back(std::move(view));
    }
}

// A queue and, below it, the others; returns what they wait for and run together.
view_parts::Work add_with_children(const ClusterState& state, QueueId id,
                                   const view_parts::QueueWork& work,
                                   const std::map<QueueId, Entitlement>& parts,
                                   std::vector<QueueView>& out) {
    const auto own = work.find(id);
    view_parts::Work sum = own == work.end() ? view_parts::Work{} : own->second;
    const std::size_t position = out.size();
    out.push_back(view_of(state, id));
    out.back().entitled = parts.at(id).entitled;
    for (const QueueId child : state.queue(id).children) {
        const view_parts::Work below = add_with_children(state, child, work, parts, out);
        sum.jobs_waiting += below.jobs_waiting;
        sum.jobs_running += below.jobs_running;
        sum.gpus_waiting += below.gpus_waiting;
        sum.gpus_claimed += below.gpus_claimed;
    }
    out[position].jobs_waiting = sum.jobs_waiting;
    out[position].jobs_running = sum.jobs_running;
    out[position].gpus_waiting = sum.gpus_waiting;
    out[position].claimed = sum.gpus_claimed;
    out[position].held = out[position].held - sum.gpus_claimed;
    return sum;
}

}  // namespace

namespace view_parts {

QueueWork queue_work(const ClusterState& state) {
    QueueWork out;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.queue.exists()) continue;
        count_work(state, job, out[job.queue]);
    }
    return out;
}

std::vector<BudgetView> budgets_in(const ClusterState& state, PoolId pool) {
    std::vector<BudgetView> out;
    for (const auto& [of, budget] : state.budgets().tenants()) {
        if (of.second != pool) continue;
        out.push_back(view_of(state, budget));
        out.back().tenant = state.tenant(of.first).name;
    }
    std::sort(out.begin(), out.end(),
              [](const BudgetView& a, const BudgetView& b) { return a.tenant < b.tenant; });
    return out;
}

std::vector<QueueView> queues_of(const ClusterState& state, PoolId pool, const QueueWork& work) {
    std::vector<QueueView> out;
    const std::map<QueueId, Entitlement> parts = entitlements(state, pool);
    for (const QueueId root : state.pool(pool).roots) {
        add_with_children(state, root, work, parts, out);
    }
    add_undeclared(state, pool, out);
    return out;
}

}  // namespace view_parts

std::vector<QueueView> list_queues(const ClusterState& state) {
    const view_parts::QueueWork work = view_parts::queue_work(state);
    std::vector<QueueView> out;
    for (const auto& [name, pool] : state.pools_by_name()) {
        if (!state.pool_exists(pool)) continue;
        for (QueueView& view : view_parts::queues_of(state, pool, work)) {
            out.push_back(std::move(view));
        }
    }
    return out;
}

}  // namespace gpuctl
