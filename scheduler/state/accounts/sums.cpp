// Sums up again what queues hold, along the tree, after the policy has changed it.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void Accounts::sum_up(QueueId id) {
    QueueHoldings& queue = state_.tree.queue_rows().holdings(id, {});
    queue.account.held = queue.direct;
    queue.jobs_held = queue.jobs_direct;
    queue.held_or_reserved_below = GpuMilli{};
    for (const QueueId child_id : state_.tree.queue_rows()[id.value()].children) {
        sum_up(child_id);
        const QueueRow& child = state_.tree.queue_rows()[child_id.value()];
        queue.account.held.add(child.account.held);
        queue.jobs_held += child.jobs_held;
        queue.held_or_reserved_below += child.held_or_reserved();
    }
    state_.tree.raise_guarantee(id);
}

void Accounts::sum_up_pools() {
    for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i) {
        PoolHoldings& pool = state_.tree.pool_rows().holdings(PoolId{i}, {});
        pool.held = pool.held_or_reserved = GpuMilli{};
        pool.shares_stale = true;
    }
    for (std::uint32_t i = 0; i < state_.tree.queue_rows().size(); ++i) {
        const QueueRow& queue = state_.tree.queue_rows()[i];
        if (queue.parent.exists()) continue;
        // also queues that are no longer in the policy, until their jobs have moved
        sum_up(QueueId{i});
        PoolHoldings& pool = state_.tree.pool_rows().holdings(queue.pool, {});
        pool.held += queue.account.held.gpus;
        pool.held_or_reserved += queue.held_or_reserved();
    }
    sum_up_models();
}

// GPU models are counted only where they are limited, so a new policy counts again.
void Accounts::sum_up_models() {
    for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i) {
        PoolHoldings& pool = state_.tree.pool_rows().holdings(PoolId{i}, {});
        pool.reserved_models.clear();
        for (const QueueId id : state_.tree.pool_rows()[i].queues) {
            for (const ModelHolding& of : state_.tree.queue_rows()[id.value()].models) {
                if (of.not_lent == GpuMilli{} ||
                    pool.find_reserved_model(of.limit.model) != nullptr)
                    continue;
                pool.reserved_models.push_back({of.limit.model, {}, {}});
            }
        }
    }
    for (const NodeRow& node : state_.nodes.rows()) {
        if (!node.known || !node.pool.exists()) continue;
        PoolHoldings& pool = state_.tree.pool_rows().holdings(node.pool, {});
        ModelRoom* const room = pool.find_reserved_model(node.facts.gpu_model);
        if (room != nullptr) room->offered += offered_load(node.facts).gpus;
    }
    const auto& queues = state_.tree.queue_rows();
    if (std::none_of(queues.begin(), queues.end(),
                     [](const QueueRow& queue) { return !queue.models.empty(); })) {
        return;
    }
    for (const PodRow& pod : state_.pods.rows()) {
        if (!pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = state_.jobs.rows()[pod.job.value()];
        if (job.priority >= kSystemPriority || !job.queue.exists()) continue;
        charge_models(job.queue, pod, 1);
    }
}

}  // namespace gpuctl
