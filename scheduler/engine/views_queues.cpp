// Views of queues: the tree of each pool, a queue before its sub-queues.

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
    view.path = state.tree.queue_path(id);
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
    view.not_lent = queue.not_lent;
    view.jobs_maximum = queue.jobs_maximum;
    view.gpus_per_job_maximum = queue.gpus_per_job_maximum;
    view.models = queue.models;
    if (const Budget* budget = state.accounts.budgets().of(id))
        view.budget = view_of(state, *budget);
    view.held = queue.account.held.gpus;
    const Usage usage = state.accounts.usage_of(queue.account);
    view.used = used_of(usage);
    view.share = dominant_share(queue.account.held, usage, state.pool(queue.pool).offered);
    return view;
}

// The contribution of the job's own pods to its queue.
void count_work(const ClusterState& state, const JobRow& job, QueueWork& work) {
    bool waits = false;
    bool runs = false;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state.pod(pod_id);
        const GpuMilli gpus = state.shape_of(pod).gpus;
        if (pod.bind.state == BindState::nominated) work.gpus_nominated += gpus;
        if (pod.node.exists()) work.gpus_held += gpus;
        if (pod.facts.terminating) continue;
        if (pod.bind.state == BindState::waiting) {
            waits = true;
            work.gpus_waiting += gpus;
        }
        runs = runs || pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
    }
    if (waits) ++work.jobs_waiting;
    if (runs) ++work.jobs_running;
}

// Adds queues that jobs name and the policy does not have: a mistyped name, or a queue that was
// removed from the configuration while it held capacity. Otherwise this capacity would not be
// visible.
void add_undeclared(const ClusterState& state, PoolId pool, const view_parts::WorkByQueue& all,
                    std::vector<QueueView>& out) {
    for (auto of = all.undeclared.lower_bound({pool, ""});
         of != all.undeclared.end() && of->first.first == pool; ++of) {
        const QueueWork& work = of->second;
        const GpuMilli held = work.gpus_held - work.gpus_nominated;
        if (work.jobs_waiting == 0 && work.jobs_running == 0 && held == GpuMilli{}) continue;
        QueueView& view = out.emplace_back();
        view.held = held;
        view.nominated = work.gpus_nominated;
        view.jobs_waiting = work.jobs_waiting;
        view.jobs_running = work.jobs_running;
        view.gpus_waiting = work.gpus_waiting;
        view.pool = state.pool(pool).name;
        view.name = view.path = of->first.second;
        view.is_declared = false;
    }
}

// Adds a queue and its sub-queues; returns the sum of their work.
QueueWork add_with_children(const ClusterState& state, QueueId id,
                            const view_parts::WorkByQueue& work,
                            const std::map<QueueId, Entitlement>& parts,
                            std::vector<QueueView>& out) {
    const auto own = work.of_queue.find(id);
    QueueWork sum = own == work.of_queue.end() ? QueueWork{} : own->second;
    const std::size_t position = out.size();
    out.push_back(view_of(state, id));
    out.back().entitled = parts.at(id).entitled;
    for (const QueueId child : state.queue(id).children) {
        sum.add(add_with_children(state, child, work, parts, out));
    }
    out[position].jobs_waiting = sum.jobs_waiting;
    out[position].jobs_running = sum.jobs_running;
    out[position].gpus_waiting = sum.gpus_waiting;
    out[position].nominated = sum.gpus_nominated;
    out[position].held = out[position].held - sum.gpus_nominated;
    return sum;
}

}  // namespace

namespace view_parts {

WorkByQueue queue_work(const ClusterState& state) {
    WorkByQueue out;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.queue.exists()) {
            count_work(state, job, out.of_queue[job.queue]);
        } else if (job.pool.exists() && !job.pods.empty()) {
            count_work(state, job, out.undeclared[{job.pool, state.jobs.queue_name_of(job)}]);
        }
    }
    return out;
}

WorkByQueue queue_work(const Listing& listing) {
    WorkByQueue out;
    for (const auto& [name, pool] : listing.state().tree.pools_by_name()) {
        for (const QueueId queue : listing.state().pool(pool).queues) {
            out.of_queue[queue] = listing.jobs().of_queue(queue);
        }
    }
    for (const auto& [of, work] : listing.jobs().undeclared()) {
        out.undeclared[{of.first, listing.names().names.name(of.second)}] = work;
    }
    return out;
}

std::vector<BudgetView> budgets_in(const ClusterState& state, PoolId pool) {
    std::vector<BudgetView> out;
    for (const auto& [of, budget] : state.accounts.budgets().tenants()) {
        if (of.second != pool) continue;
        out.push_back(gpuctl::view_of(state, budget));
        out.back().tenant = state.tenant(of.first).name;
    }
    std::sort(out.begin(), out.end(),
              [](const BudgetView& a, const BudgetView& b) { return a.tenant < b.tenant; });
    return out;
}

std::vector<QueueView> queues_of(const ClusterState& state, PoolId pool, const WorkByQueue& work) {
    std::vector<QueueView> out;
    const std::map<QueueId, Entitlement> parts = entitlements(state, pool);
    for (const QueueId root : state.pool(pool).roots) {
        add_with_children(state, root, work, parts, out);
    }
    add_undeclared(state, pool, work, out);
    return out;
}

}  // namespace view_parts

namespace {

std::vector<QueueView> queues_with(const ClusterState& state, const view_parts::WorkByQueue& work) {
    std::vector<QueueView> out;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        if (!state.tree.pool_exists(pool)) continue;
        for (QueueView& view : view_parts::queues_of(state, pool, work)) {
            out.push_back(std::move(view));
        }
    }
    return out;
}

}  // namespace

std::vector<QueueView> list_queues(const ClusterState& state) {
    return queues_with(state, view_parts::queue_work(state));
}

std::vector<QueueView> list_queues(const Listing& listing) {
    return queues_with(listing.state(), view_parts::queue_work(listing));
}

}  // namespace gpuctl
