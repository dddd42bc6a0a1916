#include "scheduler/plan/cycle/quota_heads.hpp"

#include <optional>

#include "scheduler/plan/allocate/windows_ahead.hpp"
#include "scheduler/policy/queue_order.hpp"

namespace gpuctl {

// Quota is reserved only if nodes will have room for the head; otherwise other jobs would wait for
// nothing. The time of that room does not matter: other jobs would postpone it while nodes are not
// reserved (docs/adr/0028).
bool QuotaHeads::reserve(const Overlay& overlay, PoolTurn& turn, PoolId pool, JobId job) {
    const ClusterState& state = overlay.state;
    state.waiting.read_readiness(job, ready_);
    if (!ready_.can_be_tried()) return false;
    pods_ = ready_.pods;
    pods_.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    placer_.avoid({});
    avoid_windows_ahead(state, placer_, state.job(job), ready_.pods);
    const bool fits = placer_.place_all(state, overlay.capacity, pool, pods_, round_);
    placer_.keep_outside(std::nullopt);
    if (fits) return turn.quota.add(state, job);
    if (probes_.size() < state.tree.pools()) probes_.resize(state.tree.pools());
    Reservation& probe = probes_[pool.value()];
    return probe.make(overlay, placer_, job, pods_) && turn.quota.add(state, job);
}

void QuotaHeads::add_or_pass(const Overlay& overlay, PoolTurn& turn, PoolId pool, ClassId head) {
    const ClusterState& state = overlay.state;
    if (reserve(overlay, turn, pool, state.waiting.book().at(head).jobs.begin()->job)) {
        turn.line.heads.add_head(state, head);
    } else {
        turn.line.heads.pass(head);
    }
}

bool QuotaHeads::add_if_head(const Overlay& overlay, PoolTurn& turn, ClassId chosen) {
    const ClusterState& state = overlay.state;
    const JobClass& of = state.waiting.book().at(chosen);
    if (!state.waiting.is_blocked(of) || of.block.limits == 0) return false;
    const JobId behind = of.block.behind;
    // the head in front of it is none any more
    if (behind.exists() && !turn.line.heads.is_known(behind)) return false;
    add_or_pass(overlay, turn, turn.pool, chosen);
    return true;
}

void QuotaHeads::add_in_front_of(const Overlay& overlay, PoolTurn& turn, const JobClass& waiting) {
    const ClusterState& state = overlay.state;
    constexpr std::size_t kMost = 16;
    std::vector<ClassId> before;
    for (JobId behind = waiting.block.behind; behind.exists() && before.size() < kMost;) {
        const ClassId head = state.job(behind).waiting.in_class;
        if (!head.exists()) break;
        const JobClass& of = state.waiting.book().at(head);
        if (state.queue(of.key.queue).pool != turn.pool) break;
        before.push_back(head);
        behind = of.block.behind;
    }
    for (; !before.empty(); before.pop_back()) {
        if (turn.line.heads.has_answer_for(state, before.back())) continue;
        add_if_head(overlay, turn, before.back());
    }
}

void QuotaHeads::add_of_other_pools(const Overlay& overlay, PoolTurn& turn, TenantId tenant,
                                    ClassId before) {
    const ClusterState& state = overlay.state;
    if (state.tree.pools() == 1 || !state.tenant(tenant).has_limits()) return;
    for (;;) {
        const ClassId head =
            first_of_other_pools(state, turn.pool, tenant, before, turn.line.heads);
        if (!head.exists()) return;
        const QueueId queue = state.waiting.book().at(head).key.queue;
        add_or_pass(overlay, turn, state.queue(queue).pool, head);
    }
}

void QuotaHeads::add_reserved_of_other_pools(const ClusterState& state, PoolTurn& turn) {
    if (state.tree.pools() == 1 || !reserves_quota(state.pool(turn.pool))) return;
    for (const auto& [name, other] : state.tree.pools_by_name()) {
        const HeadReservation& reserved = state.pool(other).reservations.head;
        if (other == turn.pool || !reserved.job.exists()) continue;
        if (!reserves_quota(state.pool(other))) continue;
        const JobRow& job = state.job(reserved.job);
        if (!job.waiting.in_class.exists() || !state.tenant(job.tenant).has_limits()) continue;
        // reserved nodes of another pool have no model of this pool
        turn.quota.add_head_reservation(reserved, {});
        turn.line.heads.note_head_reservation(reserved.job);
    }
}

void QuotaHeads::add_reported_of_other_pools(const Overlay& overlay, PoolTurn& turn) {
    const ClusterState& state = overlay.state;
    if (!turn.line.reserves_quota) return;
    add_reserved_of_other_pools(state, turn);
    for (const HeadReservation& one : state.pool(turn.pool).reservations.under_limits) {
        const ClassId of = state.job(one.job).waiting.in_class;
        const PoolId its = state.job(one.job).pool;
        if (its == turn.pool || !of.exists() || !reserves_quota(state.pool(its))) continue;
        const JobClass& waiting = state.waiting.book().at(of);
        const bool waits = (waiting.block.limits & ClassBlock::kOfTenant) != 0;
        const bool is_first = waiting.jobs.begin()->job == one.job;
        if (waits && is_first && !turn.line.heads.has_answer_for(state, of)) {
            add_or_pass(overlay, turn, its, of);
        }
    }
}

bool QuotaHeads::look_in_front_of(const Overlay& overlay, PoolTurn& turn, ClassId chosen) {
    const ClusterState& state = overlay.state;
    LimitHeads& heads = turn.line.heads;
    if (!turn.line.reserves_quota || state.waiting.book().classes_limited() == 0) return false;
    if (heads.looked_before(chosen)) return false;
    heads.look_before(chosen);
    add_of_other_pools(overlay, turn, state.waiting.book().at(chosen).key.tenant, chosen);
    return true;
}

// Reported heads are added before other heads. In a cycle that tried no job, the heads before them
// were not found.
void QuotaHeads::open_with_reported(const Overlay& overlay, PoolTurn& turn) {
    const ClusterState& state = overlay.state;
    turn.line.heads = {};
    turn.line.terminating_pods = {};
    turn.quota.clear();
    const Reservation& reserved = *turn.reservation;
    if (reserved.exists()) {
        turn.quota.add_head_reservation(reserved.head_reservation(), reserved.models(state));
        turn.line.heads.note_head_reservation(reserved.head_reservation().job);
    }
    add_reserved_of_other_pools(state, turn);
    for (const HeadReservation& one : state.pool(turn.pool).reservations.under_limits) {
        const ClassId of = state.job(one.job).waiting.in_class;
        if (!of.exists() || state.waiting.book().at(of).block.limits == 0) continue;
        if (!reserves_quota(state.pool(state.job(one.job).pool))) continue;
        const bool is_first = state.waiting.book().at(of).jobs.begin()->job == one.job;
        if (is_first) add_or_pass(overlay, turn, state.job(one.job).pool, of);
    }
}

void QuotaHeads::open_with_all(const Overlay& overlay, PoolTurn& turn) {
    const ClusterState& state = overlay.state;
    open_with_reported(overlay, turn);
    turn.line.reserves_quota = reserves_quota(state.pool(turn.pool));
    if (!turn.line.reserves_quota || state.waiting.book().classes_limited() == 0) return;
    turn.line.has_only_heads = true;
    turn.line.heads.look_for_all();
    for (;;) {
        const ClassId head = next_class(state, turn.pool, turn.line);
        if (!head.exists()) break;
        add_or_pass(overlay, turn, turn.pool, head);
    }
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        add_of_other_pools(overlay, turn, state.job(id).tenant, ClassId::none());
    }
}

}  // namespace gpuctl
