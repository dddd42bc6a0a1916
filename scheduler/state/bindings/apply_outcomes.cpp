// What became of our binds and deletions.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void Bindings::give_up_assumption(PodId id) {
    PodRow& row = state_.pods.rows()[id.value()];
    state_.pods.release(id);
    row.bind.state = BindState::waiting;
    row.bind.in_flight = false;
    row.bind.effect = EffectId{};
    row.bind.unsure_until = Instant{};
    row.report.start_reported = true;
}

// Once per wave of failures, however many pods of the job failed in it.
void Bindings::back_off(JobRow& job) {
    if (job.binding.not_before > state_.session.event_time() || planted(PlantedBug::no_backoff))
        return;
    ++job.binding.failures;
    job.binding.not_before =
        state_.session.event_time() + backoff_after(job.binding.failures,
                                                    state_.session.policy().backoff_initial,
                                                    state_.session.policy().backoff_maximum);
}

// What stood in its way (a right, an admission policy) is lifted without an event that we hear, so
// it is asked for again after the longest pause; one pod's refusal holds nobody but it and its
// gang.
void Bindings::set_bar(PodRow& row, PodBar bar) {
    if (bar == PodBar::refused && planted(PlantedBug::retry_refused_at_once)) return;
    const bool was_refused = row.bind.bar == PodBar::refused;
    row.bind.bar = bar;
    if (bar == PodBar::refused)
        row.bind.barred_until =
            state_.session.event_time() + state_.session.policy().backoff_maximum;
    if (!row.job.exists()) return;
    JobRow& job = state_.jobs.rows()[row.job.value()];
    if (was_refused) return find_end_of_refusal(job);
    if (bar != PodBar::refused) return;
    const bool is_first = !job.binding.refusal_ends_at.happened();
    if (is_first || row.bind.barred_until < job.binding.refusal_ends_at)
        job.binding.refusal_ends_at = row.bind.barred_until;
}

void Bindings::lift_refusals(JobRow& job) {
    if (!job.binding.refusal_ends_at.happened() ||
        job.binding.refusal_ends_at > state_.session.event_time())
        return;
    if (planted(PlantedBug::refuse_binds_for_ever)) return;
    for (const PodId id : job.pods) {
        PodRow& row = state_.pods.rows()[id.value()];
        if (row.bind.bar == PodBar::refused && row.bind.barred_until <= state_.session.event_time())
            row.bind.bar = PodBar::none;
    }
    find_end_of_refusal(job);
}

void Bindings::find_end_of_refusal(JobRow& job) const {
    job.binding.refusal_ends_at = Instant{};
    for (const PodId id : job.pods) {
        const PodRow& row = state_.pods.rows()[id.value()];
        if (row.bind.bar != PodBar::refused) continue;
        const bool is_first = !job.binding.refusal_ends_at.happened();
        if (is_first || row.bind.barred_until < job.binding.refusal_ends_at) {
            job.binding.refusal_ends_at = row.bind.barred_until;
        }
    }
}

void Bindings::on(const BindOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists()) return;
    PodRow& row = state_.pods.rows()[id.value()];
    // An answer to an effect that was sent again under a new id says nothing we will not hear.
    const bool is_ours = row.bind.effect == event.effect || planted(PlantedBug::ignore_effect_ids);
    // One that was not sent again, as its room was gone, may have landed all the same.
    const bool has_landed =
        row.bind.state == BindState::assumed && event.result == BindResult::bound;
    if (!is_ours || !(row.bind.in_flight || has_landed)) return;
    const JobId job_id = row.job;
    JobRow& job = state_.jobs.rows()[job_id.value()];
    row.bind.in_flight = false;
    row.message = event.result == BindResult::bound ? "" : event.message;
    state_.jobs.mark_dirty(job_id);
    switch (event.result) {
        case BindResult::bound:
            row.bind.state = BindState::bound;  // the watch will say so too, some time
            if (state_.evictions.may_be_preempted(row)) state_.tree.note_victim(job.queue);
            row.bind.effect = EffectId{};
            row.bind.unsure_until = Instant{};
            job.binding.failures = 0;
            break;
        case BindResult::elsewhere:
            give_up_assumption(id);
            set_bar(row, PodBar::elsewhere);
            break;
        case BindResult::gone:
            give_up_assumption(id);
            set_bar(row, PodBar::gone);
            job.gang.member_refused = true;
            break;
        case BindResult::refused:
            set_bar(row, PodBar::refused);
            job.gang.member_refused = true;
            if (is_unsure(row)) {  // what an earlier term sent may land yet: its room is kept
                back_off(job);
            } else {
                give_up_assumption(id);
            }
            state_.session.set_timer(job_id);
            break;
        case BindResult::failed:
            back_off(job);
            // A gang keeps its reservations and tries again until its deadline (G4).
            if (planted(PlantedBug::forget_failed_binds)) break;
            if (!job.gang.deadline.happened() && !is_unsure(row)) give_up_assumption(id);
            state_.session.set_timer(job_id);
            break;
    }
}

void Bindings::on(const PodDeleteOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists() || !state_.pods.rows()[id.value()].bind.delete_in_flight) return;
    PodRow& row = state_.pods.rows()[id.value()];
    if (event.deleted)
        return state_.evictions.note_rolled_back(id);  // in flight until the watch shows it
    if (planted(PlantedBug::ignore_failed_deletions)) return;
    row.bind.delete_in_flight = false;
    row.message = event.message;
    if (!row.job.exists()) return;
    back_off(state_.jobs.rows()[row.job.value()]);
    state_.jobs.mark_dirty(row.job);
    state_.session.set_timer(row.job);
}

}  // namespace gpuctl
