// The tree of queues, built anew from every policy, and what it holds summed up along it.

#include <algorithm>
#include <iterator>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/image/image.hpp"
#include "scheduler/state/pods/leaving.hpp"

#include "scheduler/base/planted.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/relief.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Parents by name. One that is unknown, closes a ring or makes the tree too deep counts as none:
// the configuration refuses those, a journal may hold anything.
void QueueTree::link_queues() {
    for (QueueRow& queue : queues_) {
        queue.parent = QueueId::none();
        queue.children.clear();
        queue.depth = 0;
    }
    for (const PoolPolicy& pool : state_.session.policy().pools) {
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

void QueueTree::sum_up(QueueId id) {
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

void QueueTree::rebuild_tree() {
    for (QueueRow& queue : queues_) state_.accounts.note_usage(queue.account);
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

// Models are counted only where they are limited, so a new policy counts anew.
void QueueTree::sum_up_models() {
    for (PoolRow& pool : pools_) {
        pool.models_kept.clear();
        for (const QueueId id : pool.queues) {
            for (const ModelHolding& of : queues_[id.value()].models) {
                if (of.keeps == GpuMilli{} || pool.kept_of(of.limit.model) != nullptr) continue;
                pool.models_kept.push_back({of.limit.model, {}, {}});
            }
        }
    }
    for (const NodeRow& node : state_.nodes.rows()) {
        if (!node.known || !node.pool.exists()) continue;
        ModelRoom* const room = pools_[node.pool.value()].kept_of(node.facts.gpu_model);
        if (room != nullptr) room->offered += offered_load(node.facts).gpus;
    }
    if (std::none_of(queues_.begin(), queues_.end(),
                     [](const QueueRow& queue) { return !queue.models.empty(); })) {
        return;
    }
    for (const PodRow& pod : state_.pods.rows()) {
        if (!pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = state_.jobs.rows()[pod.job.value()];
        if (job.priority >= kSystemPriority || !job.queue.exists()) continue;
        state_.accounts.charge_models(job.queue, pod, 1);
    }
}

std::string QueueTree::queue_path(QueueId id) const {
    const QueueRow& queue = queues_[id.value()];
    return queue.parent.exists() ? queue_path(queue.parent) + "/" + queue.name : queue.name;
}

void QueueTree::promise(PoolId pool, HeadReservation promise) {
    PoolRow& row = pools_[pool.value()];
    if (row.reservations.head == promise) return;
    row.reservations.head = promise;
    ++row.reservations.revision;
    state_.session.idle() = false;
}

void QueueTree::look_again(QueueId id, Instant at) {
    Instant& own = queues_[id.value()].look_again_at;
    if (!own.happened() || at < own) own = at;
    if (!look_again_next_.happened() || at < look_again_next_) look_again_next_ = at;
}

void QueueTree::note_ends_of_protection() {
    if (!look_again_next_.happened() || look_again_next_ > state_.session.event_time()) return;
    look_again_next_ = Instant{};
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        const Instant at = std::exchange(queues_[i].look_again_at, Instant{});
        if (!at.happened()) continue;
        if (at <= state_.session.event_time()) {
            note_victim(QueueId{i});
        } else {
            look_again(QueueId{i}, at);
        }
    }
}

void QueueTree::note_gain(PoolId pool) {
    if (!pool.exists()) return;
    ++pools_[pool.value()].gains;
    ++pools_[pool.value()].changes;
    state_.session.idle() = false;
}

// What is promised to the first in line is told anew when what it was made of changes.
void QueueTree::note_change(PoolId pool) {
    if (!pool.exists()) return;
    ++pools_[pool.value()].changes;
    if (pools_[pool.value()].reservations.head.job.exists()) state_.session.idle() = false;
    // What a namespace may hold is the same in all pools.
    const bool keeps = std::any_of(pools_.begin(), pools_.end(), [](const PoolRow& row) {
        return !row.reservations.under_limits.empty();
    });
    if (keeps) state_.session.idle() = false;
}

std::optional<GpuMilli> QueueTree::pool_quota(TenantId tenant, PoolId pool) const {
    for (const auto& [of, quota] : tenants_[tenant.value()].pool_quotas) {
        if (of == pool) return quota;
    }
    return std::nullopt;
}

GpuMilli QueueTree::held_in_pool(TenantId tenant, PoolId pool) const {
    const std::vector<GpuMilli>& by_tenant = pools_[pool.value()].held_by_tenant;
    return tenant.value() < by_tenant.size() ? by_tenant[tenant.value()] : GpuMilli{};
}

}  // namespace gpuctl
