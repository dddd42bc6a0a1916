// Outcomes of binds and of deletions of pods.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void Bindings::give_up_assumption(PodId id) {
    state_.pods.release(id);
    BindRow& bind = state_.pods.rows().bind(id, {});
    bind.state = BindState::waiting;
    bind.in_flight = false;
    bind.effect = EffectId{};
    bind.unsure_until = Instant{};
    state_.waiting.forget_start(id);
}

void Bindings::nominate(PodId id) { state_.pods.rows().bind(id, {}).state = BindState::nominated; }

void Bindings::withdraw_nomination(PodId id) {
    state_.pods.rows().bind(id, {}).state = BindState::waiting;
}

// Counts a wave of failures once, however many pods of the job fail in it.
void Bindings::back_off(JobId id) {
    BindingRow& binding = state_.jobs.rows().binding(id, {});
    const Instant now = state_.session.event_time();
    if (binding.phase(now) == BindPhase::backing_off || has_fault(SeededFault::no_backoff)) return;
    ++binding.failures;
    binding.not_before = state_.session.event_time() +
                         backoff_after(binding.failures, state_.session.policy().backoff_initial,
                                       state_.session.policy().backoff_maximum);
}

// The API server may accept the bind later, after a change of rights or of an admission policy, but
// no event reports that. So it is sent again after the longest pause. A refusal delays only this
// pod and its gang.
void Bindings::set_bar(PodId id, PodBar bar) {
    if (bar == PodBar::refused && has_fault(SeededFault::retry_refused_at_once)) return;
    BindRow& bind = state_.pods.rows().bind(id, {});
    const bool was_refused = bind.bar == PodBar::refused;
    bind.bar = bar;
    if (bar == PodBar::refused)
        bind.barred_until = state_.session.event_time() + state_.session.policy().backoff_maximum;
    const JobId job = state_.pods.rows()[id.value()].job;
    if (!job.exists()) return;
    if (was_refused) return find_end_of_refusal(job);
    if (bar != PodBar::refused) return;
    Instant& ends_at = state_.jobs.rows().binding(job, {}).refusal_ends_at;
    if (!ends_at.happened() || bind.barred_until < ends_at) ends_at = bind.barred_until;
}

void Bindings::lift_refusals(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.binding.refusals(state_.session.event_time()) != RefusalPhase::due) return;
    if (has_fault(SeededFault::refuse_binds_for_ever)) return;
    for (const PodId pod : job.pods) {
        BindRow& bind = state_.pods.rows().bind(pod, {});
        if (bind.bar == PodBar::refused && bind.barred_until <= state_.session.event_time())
            bind.bar = PodBar::none;
    }
    find_end_of_refusal(id);
}

void Bindings::find_end_of_refusal(JobId id) {
    Instant& ends_at = state_.jobs.rows().binding(id, {}).refusal_ends_at;
    ends_at = Instant{};
    for (const PodId pod : state_.jobs.rows()[id.value()].pods) {
        const BindRow& bind = state_.pods.rows()[pod.value()].bind;
        if (bind.bar != PodBar::refused) continue;
        if (!ends_at.happened() || bind.barred_until < ends_at) ends_at = bind.barred_until;
    }
}

void Bindings::on(const BindOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists()) return;
    const PodRow& row = state_.pods.rows()[id.value()];
    BindRow& bind = state_.pods.rows().bind(id, {});
    // The outcome of a bind that was sent again under a new id is ignored: the new one has its own.
    const bool is_ours = bind.effect == event.effect || has_fault(SeededFault::ignore_effect_ids);
    // A bind that was not sent again, because its room was gone, may have succeeded all the same.
    const bool has_landed = bind.state == BindState::assumed && event.result == BindResult::bound;
    if (!is_ours || !(bind.in_flight || has_landed)) return;
    const JobId job_id = row.job;
    const JobRow& job = state_.jobs.rows()[job_id.value()];
    bind.in_flight = false;
    state_.pods.set_message(id, event.result == BindResult::bound ? "" : event.message);
    state_.jobs.mark_dirty(job_id);
    switch (event.result) {
        case BindResult::bound:
            bind.state = BindState::bound;  // the watch will show it, too
            if (state_.evictions.may_be_preempted(row)) state_.tree.note_victim(job.queue);
            bind.effect = EffectId{};
            bind.unsure_until = Instant{};
            state_.jobs.rows().binding(job_id, {}).failures = 0;
            break;
        case BindResult::elsewhere:
            give_up_assumption(id);
            set_bar(id, PodBar::elsewhere);
            break;
        case BindResult::gone:
            give_up_assumption(id);
            set_bar(id, PodBar::gone);
            state_.gangs.refuse_member(job_id);
            break;
        case BindResult::refused:
            set_bar(id, PodBar::refused);
            state_.gangs.refuse_member(job_id);
            // a bind of an earlier term may still succeed: its room stays held
            if (is_unsure(row)) {
                back_off(job_id);
            } else {
                give_up_assumption(id);
            }
            state_.session.set_timer(job_id);
            break;
        case BindResult::failed:
            back_off(job_id);
            // The ranks of a gang are bound by independent requests. The room of a failed one stays
            // held, and it is sent again until the deadline of the round.
            if (has_fault(SeededFault::forget_failed_binds)) break;
            if (!job.gang.deadline.happened() && !is_unsure(row)) give_up_assumption(id);
            state_.session.set_timer(job_id);
            break;
    }
}

void Bindings::on(const PodDeleteOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists() || !state_.pods.rows()[id.value()].bind.delete_in_flight) return;
    const JobId job = state_.pods.rows()[id.value()].job;
    if (event.deleted)
        return state_.evictions.note_rolled_back(id);  // in flight until the watch shows it
    if (has_fault(SeededFault::ignore_failed_deletions)) return;
    state_.pods.rows().bind(id, {}).delete_in_flight = false;
    state_.pods.set_message(id, event.message);
    if (!job.exists()) return;
    back_off(job);
    state_.jobs.mark_dirty(job);
    state_.session.set_timer(job);
}

}  // namespace gpuctl
