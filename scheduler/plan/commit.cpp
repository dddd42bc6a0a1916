#include "scheduler/plan/commit.hpp"

#include <utility>

namespace gpuctl {

Commit::Commit(ClusterState& state, EffectList& effects, CyclePlan& plan)
    : state_(state), effects_(effects), plan_(plan) {
    plan_.clear();
}

std::vector<JobId> Commit::take_changed_jobs() { return state_.jobs.take_dirty(); }

void Commit::refresh(JobId job, Readiness& ready) { state_.waiting.refresh(job, ready, effects_); }

void Commit::resend_binds() { state_.bindings.resend_unanswered(effects_); }

void Commit::resend_evictions(EffectId before) {
    state_.evictions.resend_evictions(before, effects_);
}

void Commit::settle_guarantees() { state_.tree.note_demand(); }

void Commit::end_cycle(bool is_unfinished, bool is_idle) {
    state_.session.set_unfinished(is_unfinished);
    state_.session.set_idle(is_idle);
}

bool Commit::place(JobId job, const std::vector<Placement>& round, bool all_or_nothing,
                   CyclePlan::PlacedFor why) {
    const bool is_nominated = why == CyclePlan::PlacedFor::nomination;
    const LetIn let_in = is_nominated ? LetIn::when_nominated : LetIn::now;
    if (!state_.bindings.assume(job, round, all_or_nothing, effects_, let_in)) return false;
    for (const Placement& one : round) plan_.placed.push_back({job, one, why});
    return true;
}

void Commit::mark_long(JobId job, bool is_long) { state_.run_times.note_long(job, is_long); }

void Commit::nominate(JobId job, const std::vector<Placement>& round,
                      const std::vector<Victim>& victims, EvictionCause cause) {
    state_.nominations.nominate(job, round, victims, cause, effects_);
    plan_.nominated.push_back({job, round.size(), victims.size()});
    for (const Victim& victim : victims) plan_.evicted.push_back({victim.pod, job, cause});
}

void Commit::drop_nomination(JobId job) { state_.nominations.drop_nomination(job); }

void Commit::retry_evictions(JobId job) { state_.evictions.evict_postponed(job, effects_); }

void Commit::evict(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why) {
    state_.evictions.drain(pods, cause, why, effects_);
    for (const PodId pod : pods) plan_.evicted.push_back({pod, JobId::none(), cause});
}

void Commit::finish_drain() { state_.maintenance.note_drained(); }

void Commit::retry_preemption_at(QueueId queue, Instant at) { state_.tree.look_again(queue, at); }

void Commit::resize(JobId job, std::int32_t ranks, Cause why, EvictionCause cause) {
    if (state_.job(job).elastic.wanted == ranks) return;  // it has that size already
    state_.elastic.resize(job, ranks, std::move(why), effects_, cause);
    plan_.resized.push_back({job, ranks, cause});
}

void Commit::defer_growth(JobId job, std::int32_t from_rank) {
    state_.elastic.defer_ranks(job, from_rank);
}

void Commit::reserve_for_head(PoolId pool, HeadReservation of) {
    state_.tree.set_head_reservation(pool, of);
    plan_.reserved.push_back({pool, of, CyclePlan::ReservedKind::nodes});
}

void Commit::reserve_quota(PoolId pool, HeadReservation of) {
    state_.tree.keep_quota_reservation(pool, of);
    plan_.reserved.push_back({pool, of, CyclePlan::ReservedKind::quota});
}

bool Commit::set_quota_reservations(PoolId pool, std::vector<HeadReservation> all) {
    if (!state_.tree.set_quota_reservations(pool, std::move(all))) return false;
    for (const HeadReservation& one : state_.pool(pool).reservations.under_limits) {
        plan_.reserved.push_back({pool, one, CyclePlan::ReservedKind::quota});
    }
    return true;
}

void Commit::note_quota_moved(PoolId pool) { state_.tree.note_limits_moved(pool); }

void Commit::block(ClassId of, const ClassBlock& block) { state_.waiting.block(of, block); }

void Commit::refuse(ClassId of, JobId tried, const ClassBlock& block) {
    state_.waiting.block(of, block);
    plan_.refused.push_back({tried, of, block.reason});
}

void Commit::refuse(JobId job, Reason hold, Explanation explanation) {
    plan_.refused.push_back({job, ClassId::none(), hold});
    report(job, std::move(explanation));
}

void Commit::await_budget(JobId job, const LimitHit& budget) {
    state_.accounts.await_budget(state_.job(job), budget);
}

void Commit::report(JobId job, Explanation explanation) {
    plan_.reported.push_back({job, explanation.reason});
    state_.waiting.report_pending(job, std::move(explanation), effects_);
}

}  // namespace gpuctl
