// The tree of queues, built anew from every policy, and what it holds summed up along it.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

// Parents by name. One that is unknown, closes a ring or makes the tree too deep counts as none:
// the configuration refuses those, a journal may hold anything.
void ClusterState::link_queues() {
    for (QueueRow& queue : queues_) {
        queue.parent = QueueId::none();
        queue.children.clear();
        queue.depth = 0;
    }
    for (const PoolPolicy& pool : policy_.pools) {
        for (const QueuePolicy& asked : pool.queues) {
            if (asked.parent.empty()) continue;
            const PoolId in = pool_named(pool.name);
            QueueRow& queue = queues_[queue_named(in, asked.name).value()];
            const QueueId parent = find_queue(in, asked.parent);
            if (parent.exists()) queue.parent = parent;
        }
    }
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        int above = 0;
        for (QueueId up = queues_[i].parent; up.exists(); up = queues_[up.value()].parent) {
            if (++above < kQueueDepthMaximum && up != QueueId{i}) continue;
            queues_[i].parent = QueueId::none();
            above = 0;
            break;
        }
        queues_[i].depth = above;
    }
    for (PoolRow& pool : pools_) {
        pool.roots.clear();
        for (const QueueId id : pool.queues) {  // by name
            const QueueId parent = queues_[id.value()].parent;
            (parent.exists() ? queues_[parent.value()].children : pool.roots).push_back(id);
        }
    }
}

void ClusterState::sum_up(QueueId id) {
    QueueRow& queue = queues_[id.value()];
    queue.account.held = queue.direct;
    queue.jobs_held = queue.jobs_direct;
    queue.kept_below = GpuMilli{};
    GpuMilli promised;
    for (const QueueId child_id : queue.children) {
        sum_up(child_id);
        const QueueRow& child = queues_[child_id.value()];
        queue.account.held.add(child.account.held);
        queue.jobs_held += child.jobs_held;
        queue.kept_below += child.kept();
        promised += child.guaranteed;
    }
    queue.guaranteed = std::max(queue.guaranteed, promised);
    promised = GpuMilli{};
    for (const ModelHolding& model : queue.models) promised += model.limit.guaranteed;
    queue.guaranteed = std::max(queue.guaranteed, promised);
}

void ClusterState::rebuild_tree() {
    for (QueueRow& queue : queues_) note_usage(queue.account);
    link_queues();
    for (PoolRow& pool : pools_) {
        pool.held = pool.kept = GpuMilli{};
        pool.shares_stale = true;
    }
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        const QueueRow& queue = queues_[i];
        if (queue.parent.exists()) continue;
        sum_up(QueueId{i});  // also what is no longer in the policy, until its jobs have moved
        pools_[queue.pool.value()].held += queue.account.held.gpus;
        pools_[queue.pool.value()].kept += queue.kept();
    }
    sum_up_models();
}

bool ClusterState::keeps_something_back(const PoolRow& pool) const {
    return pool.kept > pool.held || Relief::claims_are_kept(*this, pool, nullptr);
}

// What a queue holds, every queue above it holds, too.
void ClusterState::charge_queues(QueueId leaf, TenantId tenant, const Load& load, std::int64_t sign,
                                 std::int64_t jobs) {
    QueueRow& own = queues_[leaf.value()];
    PoolRow& pool = pools_[own.pool.value()];
    if (own.by_tenant.size() <= tenant.value()) own.by_tenant.resize(tenant.value() + 1);
    change_account(own.by_tenant[tenant.value()], load, sign);
    own.jobs_direct += jobs;
    const bool kept_something_back = keeps_something_back(pool);
    GpuMilli kept_more = own.kept();
    own.direct.add(load, sign);
    kept_more = own.kept() - kept_more;
    for (QueueId id = leaf; id.exists(); id = queues_[id.value()].parent) {
        QueueRow& queue = queues_[id.value()];
        if (id != leaf) {
            if (planted(PlantedBug::charge_the_leaf_only)) break;
            const GpuMilli before = queue.kept();
            queue.kept_below += kept_more;
            kept_more = queue.kept() - before;
        }
        change_account(queue.account, load, sign);
        queue.jobs_held += jobs;
        if (sign < 0 && !planted(PlantedBug::forget_queue_shrink)) ++queue.shrinks;
    }
    pool.held += load.gpus * sign;
    pool.kept += kept_more;
    // What is kept back for others stops nobody any more once they hold it.
    if (kept_something_back && !keeps_something_back(pool)) note_gain(own.pool);
}

void ClusterState::charge_models(QueueId leaf, const PodRow& pod, std::int64_t sign) {
    const std::string& model = nodes_[pod.node.value()].facts.gpu_model;
    const GpuMilli gpus = shapes_.at(pod.shape).gpus * sign;
    const PoolId pool = queues_[leaf.value()].pool;
    ModelRoom* const room = pools_[pool.value()].kept_of(model);
    const bool kept_something_back = room != nullptr && limits::keeps_back(*this, pool, *room);
    if (room != nullptr) room->held += gpus;
    for (QueueId id = leaf; id.exists(); id = queues_[id.value()].parent) {
        for (ModelHolding& one : queues_[id.value()].models) {
            if (!same_gpu_model(one.limit.model, model)) continue;
            one.held += gpus;
            if (pod.standing == PodStanding::claimed) one.claimed += gpus;
        }
    }
    if (kept_something_back && !limits::keeps_back(*this, pool, *room)) note_gain(pool);
}

// Models are counted only where they are limited, so a new policy counts anew.
void ClusterState::sum_up_models() {
    for (PoolRow& pool : pools_) {
        pool.models_kept.clear();
        for (const QueueId id : pool.queues) {
            for (const ModelHolding& of : queues_[id.value()].models) {
                if (of.keeps == GpuMilli{} || pool.kept_of(of.limit.model) != nullptr) continue;
                pool.models_kept.push_back({of.limit.model, {}, {}});
            }
        }
    }
    for (const NodeRow& node : nodes_) {
        if (!node.known || !node.pool.exists()) continue;
        ModelRoom* const room = pools_[node.pool.value()].kept_of(node.facts.gpu_model);
        if (room != nullptr) room->offered += offered_load(node.facts).gpus;
    }
    if (std::none_of(queues_.begin(), queues_.end(),
                     [](const QueueRow& queue) { return !queue.models.empty(); })) {
        return;
    }
    for (const PodRow& pod : pods_) {
        if (!pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = jobs_[pod.job.value()];
        if (job.priority >= kSystemPriority || !job.queue.exists()) continue;
        charge_models(job.queue, pod, 1);
    }
}

std::string ClusterState::queue_path(QueueId id) const {
    const QueueRow& queue = queues_[id.value()];
    return queue.parent.exists() ? queue_path(queue.parent) + "/" + queue.name : queue.name;
}

}  // namespace gpuctl
