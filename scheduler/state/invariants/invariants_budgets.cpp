// I21: the committed part of a budget is what its pods will use, and no end of a period is missed.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl {
namespace {

template <typename Draws>
void verify_one(const ClusterState& state, const Budget& budget, const std::string& owner,
                Draws draws, std::vector<Violation>& found) {
    const Spending& spending = budget.spending;
    const Instant now = state.now();
    const Instant end = spending.period().end;
    GpuMilli held;
    GpuMilli nominated;
    GpuTime committed;
    for (const PodRow& pod : state.pods.rows()) {
        if (pod.facts.uid.empty() || !pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = state.job(pod.job);
        if (!job.queue.exists() || job.priority >= kSystemPriority || !draws(job)) continue;
        const GpuMilli gpus = state.pods.shapes().at(pod.shape).gpus;
        Instant until = pod.ends_at.happened() ? std::min(pod.ends_at, end) : end;
        if (pod.bind.state == BindState::nominated) {
            nominated += gpus;
            if (job.run.time_max > Duration{}) until = std::min(until, now + job.run.time_max);
        } else {
            held += gpus;
        }
        committed += gpu_time(gpus, until - now);
    }
    if (spending.held() != held || spending.nominated() != nominated ||
        spending.committed(now) != committed) {
        found.push_back({"I21", "the budget of " + owner + " is charged wrongly"});
    }
    const Instant turn = state.accounts.budgets().turns_at();
    const Instant awaited = budget.look_again_at;
    if (end <= now || turn > end || (awaited.happened() && turn > awaited)) {
        found.push_back({"I21", "the budget of " + owner + " has a turn without a waiting job"});
    }
}

}  // namespace

void verify_budgets(const ClusterState& state, std::vector<Violation>& found) {
    for (const auto& [queue, budget] : state.accounts.budgets().queues()) {
        const QueueId of = queue;
        const auto is_below = [&state, of](const JobRow& job) {
            QueueId up = job.queue;
            while (up.exists() && up != of) up = state.queue(up).parent;
            return up.exists();
        };
        verify_one(state, budget, "queue " + state.queue(queue).name, is_below, found);
    }
    for (const auto& [of, budget] : state.accounts.budgets().tenants()) {
        const auto [tenant, pool] = of;
        const auto is_theirs = [owner = of](const JobRow& job) {
            return std::pair{job.tenant, job.pool} == owner;
        };
        verify_one(state, budget, "namespace " + state.tenant(tenant).name, is_theirs, found);
    }
}

}  // namespace gpuctl
