// The tree of queues, rebuilt from every new policy, and its reservations.

#include <algorithm>
#include <iterator>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/image/image.hpp"
#include "scheduler/state/pods/terminating.hpp"

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Resolves parents by name. An unknown parent, a cycle or too great a depth counts as no parent:
// the configuration refuses these, but a journal may hold anything.
void QueueTree::link_queues() {
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        QueueBase& queue = queues_.base(QueueId{i}, {});
        queue.parent = QueueId::none();
        queue.children.clear();
        queue.depth = 0;
    }
    for (const PoolPolicy& pool : state_.session.policy().pools) {
        for (const QueuePolicy& asked : pool.queues) {
            if (asked.parent.empty()) continue;
            const PoolId in = pool_named(pool.name);
            QueueBase& queue = queues_.base(queue_named(in, asked.name), {});
            const QueueId parent = find_queue(in, asked.parent);
            if (parent.exists()) queue.parent = parent;
        }
    }
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        int above = 0;
        for (QueueId up = queues_[i].parent; up.exists(); up = queues_[up.value()].parent) {
            if (++above < kQueueDepthMaximum && up != QueueId{i}) continue;
            queues_.base(QueueId{i}, {}).parent = QueueId::none();
            above = 0;
            break;
        }
        queues_.base(QueueId{i}, {}).depth = above;
    }
    for (std::uint32_t i = 0; i < pools_.size(); ++i) {
        PoolBase& pool = pools_.base(PoolId{i}, {});
        pool.roots.clear();
        for (const QueueId id : pool.queues) {  // by name
            const QueueId parent = queues_[id.value()].parent;
            (parent.exists() ? queues_.base(parent, {}).children : pool.roots).push_back(id);
        }
    }
}

void QueueTree::raise_guarantee(QueueId id) {
    QueueBase& queue = queues_.base(id, {});
    GpuMilli guaranteed_sum;
    for (const QueueId child : queue.children) guaranteed_sum += queues_[child.value()].guaranteed;
    queue.guaranteed = std::max(queue.guaranteed, guaranteed_sum);
    guaranteed_sum = GpuMilli{};
    for (const ModelHolding& model : queue.models) guaranteed_sum += model.limit.guaranteed;
    queue.guaranteed = std::max(queue.guaranteed, guaranteed_sum);
}

void QueueTree::rebuild_tree() {
    state_.accounts.note_usage_of_queues();
    link_queues();
    state_.accounts.sum_up_pools();
}

void QueueTree::charge_model(QueueId id, std::string_view model, GpuMilli gpus, bool is_nominated) {
    for (ModelHolding& one : queues_.base(id, {}).models) {
        if (!same_gpu_model(one.limit.model, model)) continue;
        one.held += gpus;
        if (is_nominated) one.nominated += gpus;
    }
}

std::string QueueTree::queue_path(QueueId id) const {
    const QueueRow& queue = queues_[id.value()];
    return queue.parent.exists() ? queue_path(queue.parent) + "/" + queue.name : queue.name;
}

void QueueTree::set_head_reservation(PoolId pool, HeadReservation head_reservation) {
    PoolBase& row = pools_.base(pool, {});
    if (row.reservations.head == head_reservation) return;
    row.reservations.head = head_reservation;
    ++row.reservations.revision;
    state_.session.note_news();
}

void QueueTree::look_again(QueueId id, Instant at) {
    Instant& own = queues_.base(id, {}).look_again_at;
    if (!own.happened() || at < own) own = at;
    if (!look_again_next_.happened() || at < look_again_next_) look_again_next_ = at;
}

void QueueTree::note_ends_of_protection() {
    if (!look_again_next_.happened() || look_again_next_ > state_.session.event_time()) return;
    look_again_next_ = Instant{};
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        const Instant at = std::exchange(queues_.base(QueueId{i}, {}).look_again_at, Instant{});
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
    PoolBase& row = pools_.base(pool, {});
    ++row.gains;
    ++row.changes;
    state_.session.note_news();
}

// The head-of-line reservation is explained again when what it depends on changes.
void QueueTree::note_change(PoolId pool) {
    if (!pool.exists()) return;
    ++pools_.base(pool, {}).changes;
    if (pools_[pool.value()].reservations.head.job.exists()) state_.session.note_news();
    // The quota of a namespace is the same in all pools.
    const bool reserves = std::any_of(pools_.begin(), pools_.end(), [](const PoolRow& row) {
        return !row.reservations.under_limits.empty();
    });
    if (reserves) state_.session.note_news();
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
