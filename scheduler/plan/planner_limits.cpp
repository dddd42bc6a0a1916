// The planner and what limits leave (docs/adr/0028): who is first in line for it is found as the
// line is gone through, and who comes later is tried beside that.

#include <algorithm>
#include <optional>

#include "scheduler/plan/planner.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

bool Planner::is_beside_heads(const ClusterState& state, const std::vector<PodId>& pods,
                              Instant start) {
    if (limit_holds_.empty()) return true;
    const LimitHolds::Kept kept = limit_holds_.keeps_out(state, state.pod(pods.front()).job, pods,
                                                         start, models_, LimitHolds::For::start);
    models_beside_ += kept.models_beside;
    if (!kept.for_whom.job.exists()) return true;
    behind_ = kept.for_whom;
    watch_ |= ClassBlock::kLimitsKept | ClassBlock::kQueueShrinks | ClassBlock::kTenantShrinks;
    const ClassId of = state.job(behind_.job).waits_in;
    const bool is_of_pool = of.exists() && (state.book().at(of).block.limits & ClassBlock::kOfPool);
    if (is_of_pool) watch_ |= ClassBlock::kPoolLending;
    return !kept.is_out;  // to other GPU models it may go
}

// Where nobody knows that nodes will have room for it, others would wait for nothing. When that is
// does not count: others would move it while it is nobody's (docs/adr/0028).
bool Planner::keep_limits_for(ClusterState& state, PoolId pool, JobId job) {
    state.read_readiness(job, ready_);
    if (ready_.hold != Reason::none || ready_.pods.empty()) return false;
    pods_ = ready_.pods;
    pods_.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    placer_.avoid({});
    keep_outside_windows(state, job);
    Capacity& capacity = state.capacity_for_planning();
    const bool fits = placer_.place_all(state, capacity, pool, pods_, round_);
    placer_.keep_outside(std::nullopt);
    if (fits) return limit_holds_.add(state, job);
    if (probes_.size() < state.pools()) probes_.resize(state.pools());
    Reservation& probe = probes_[pool.value()];
    return probe.make(state, placer_, job, pods_) && limit_holds_.add(state, job);
}

bool Planner::note_head(ClusterState& state, ClassId chosen) {
    const JobClass& of = state.book().at(chosen);
    if (!state.is_blocked(of) || of.block.limits == 0) return false;
    const JobId behind = of.block.behind;
    if (behind.exists() && !line_.heads.is_known(behind)) return false;  // not any more
    note_or_pass(state, pool_, line_, chosen);
    return true;
}

void Planner::note_or_pass(ClusterState& state, PoolId pool, Line& line, ClassId head) {
    if (keep_limits_for(state, pool, state.book().at(head).jobs.begin()->job)) {
        line.heads.note(state, head);
    } else {
        line.heads.pass(head);
    }
}

void Planner::note_head_elsewhere(ClusterState& state, PoolId pool, Line& line, TenantId tenant,
                                  ClassId before) {
    if (state.pools() == 1 || !state.tenant(tenant).has_limits()) return;
    for (;;) {
        const ClassId head = first_elsewhere(state, pool, tenant, before, line.heads);
        if (!head.exists()) return;
        note_or_pass(state, state.queue(state.book().at(head).key.queue).pool, line, head);
    }
}

void Planner::note_promised_elsewhere(const ClusterState& state, PoolId pool, LimitHeads& heads) {
    if (state.pools() == 1 || !keeps_limits(state.pool(pool))) return;
    for (const auto& [name, other] : state.pools_by_name()) {
        const Promise& promise = state.pool(other).promise;
        if (other == pool || !promise.job.exists() || !keeps_limits(state.pool(other))) continue;
        const JobRow& job = state.job(promise.job);
        if (!job.waits_in.exists() || !state.tenant(job.tenant).has_limits()) continue;
        limit_holds_.add_promised(promise, {});  // no model of this pool
        heads.note_promised(promise.job);
    }
}

void Planner::note_heads_elsewhere(ClusterState& state) {
    if (!line_.keeps_limits) return;
    note_promised_elsewhere(state, pool_, line_.heads);
    const std::vector<Promise> kept = state.pool(pool_).limits_kept;
    for (const Promise& one : kept) {
        const ClassId of = state.job(one.job).waits_in;
        const PoolId its = state.job(one.job).pool;
        if (its == pool_ || !of.exists() || !keeps_limits(state.pool(its))) continue;
        const bool waits = (state.book().at(of).block.limits & ClassBlock::kOfTenant) != 0;
        const bool is_first = state.book().at(of).jobs.begin()->job == one.job;
        if (waits && is_first && !line_.heads.has_answer_for(state, of)) {
            note_or_pass(state, state.job(one.job).pool, line_, of);
        }
    }
}

bool Planner::look_for_heads(ClusterState& state, ClassId chosen) {
    if (!line_.keeps_limits || state.book().classes_limited() == 0) return false;
    if (line_.heads.looked_before(chosen)) return false;
    line_.heads.look_before(chosen);
    const JobClass& of = state.book().at(chosen);
    note_head_elsewhere(state, pool_, line_, of.key.tenant, chosen);
    return true;
}

// Before others: in a Plan that tried nobody, who comes before them was not asked.
void Planner::note_told_heads(ClusterState& state, PoolId pool) {
    heads_.heads = {};
    heads_.leavers = {};
    limit_holds_.clear();
    const Reservation& promised = reservations_[pool.value()];
    if (promised.exists()) {
        limit_holds_.add_promised(promised.promise(), promised.models(state));
        heads_.heads.note_promised(promised.promise().job);
    }
    note_promised_elsewhere(state, pool, heads_.heads);
    const std::vector<Promise> kept = state.pool(pool).limits_kept;
    for (const Promise& one : kept) {
        const ClassId of = state.job(one.job).waits_in;
        if (!of.exists() || state.book().at(of).block.limits == 0) continue;
        if (!keeps_limits(state.pool(state.job(one.job).pool))) continue;
        const bool is_first = state.book().at(of).jobs.begin()->job == one.job;
        if (is_first) note_or_pass(state, state.job(one.job).pool, heads_, of);
    }
}

void Planner::tell_heads_anew(ClusterState& state) {
    for (const auto& [name, pool] : state.pools_by_name()) {
        if (state.pool(pool).limits_kept.empty()) continue;
        note_told_heads(state, pool);
        has_moved_limits_ = limit_holds_.tell(state, pool) || has_moved_limits_;
    }
}

void Planner::note_heads(ClusterState& state, PoolId pool) {
    note_told_heads(state, pool);
    heads_.keeps_limits = keeps_limits(state.pool(pool));
    if (!heads_.keeps_limits || state.book().classes_limited() == 0) return;
    heads_.has_only_heads = true;
    heads_.heads.look_for_all();
    for (;;) {
        const ClassId head = next_class(state, pool, heads_);
        if (!head.exists()) break;
        note_or_pass(state, pool, heads_, head);
    }
    for (const auto& [arrival, id] : state.elastic_jobs()) {
        note_head_elsewhere(state, pool, heads_, state.job(id).tenant, ClassId::none());
    }
}

// What was promised to those behind heads that come later in the line may have changed with it.
void Planner::note_limits_moved(ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    ClassKey key;
    key.queue = job.queue;
    key.tenant = job.tenant;
    for (const auto& [name, pool] : state.pools_by_name()) {
        for (const Promise& kept : state.pool(pool).limits_kept) {
            // Who is told that something is kept for it is told that it is no longer.
            has_moved_limits_ = has_moved_limits_ || (kept.job == id && pool != pool_);
            const ClassId of = state.job(kept.job).waits_in;
            if (!of.exists() || (pool == pool_ && line_.heads.is_known(kept.job))) continue;
            if (!is_under_limit_of(state, state.book().at(of), key)) continue;
            state.note_limits_moved(pool);
            has_moved_limits_ = has_moved_limits_ || pool != pool_;  // its turn may be over
            break;
        }
    }
}

// ClassBlock::limits of the least that it can start with, in pods_: none where what stops it does
// not end by others' going.
std::uint16_t Planner::limits_hit(const ClusterState& state, const JobRow& job) const {
    std::uint16_t limits = 0;
    bool can_end = true;
    const auto note = [&](const LimitHit& hit) {
        if (hit.leaves_others) return true;
        can_end = can_end && !is_budget(hit.kind) && hit.kind != LimitKind::queue_gpus_per_job;
        std::uint16_t bit = 1;
        for (QueueId up = job.queue; up.exists() && up != hit.queue; up = state.queue(up).parent) {
            bit = static_cast<std::uint16_t>(bit << 1U);
        }
        const bool is_of_pool = is_of_pools(hit.kind);
        if (!hit.queue.exists()) bit = is_of_pool ? ClassBlock::kOfPool : ClassBlock::kOfTenant;
        limits |= bit;
        return true;
    };
    const Load ask = load_of(state, pods_);
    visit_limits(state, job, ask, note);
    visit_model_limits(state, job, ask, note);
    return can_end ? limits : 0;
}

}  // namespace gpuctl
