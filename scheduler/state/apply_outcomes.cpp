// What became of our binds and deletions.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void ClusterState::give_up_assumption(PodId id) {
    PodRow& row = pods_[id.value()];
    release(id);
    row.standing = PodStanding::waiting;
    row.in_flight = false;
    row.effect = EffectId{};
    row.unsure_until = Instant{};
    row.start_reported = true;
}

// Once per wave of failures, however many pods of the job failed in it.
void ClusterState::back_off(JobRow& job) {
    if (job.not_before > now_ || planted(PlantedBug::no_backoff)) return;
    ++job.bind_failures;
    job.not_before =
        now_ + backoff_after(job.bind_failures, policy_.backoff_initial, policy_.backoff_maximum);
}

// What stood in its way (a right, an admission policy) is lifted without an event that we hear, so
// it is asked for again after the longest pause; one pod's refusal holds nobody but it and its
// gang.
void ClusterState::set_bar(PodRow& row, PodBar bar) {
    if (bar == PodBar::refused && planted(PlantedBug::retry_refused_at_once)) return;
    const bool was_refused = row.bar == PodBar::refused;
    row.bar = bar;
    if (bar == PodBar::refused) row.barred_until = now_ + policy_.backoff_maximum;
    if (!row.job.exists()) return;
    JobRow& job = jobs_[row.job.value()];
    if (was_refused) return find_end_of_refusal(job);
    if (bar != PodBar::refused) return;
    const bool is_first = !job.refusal_ends_at.happened();
    if (is_first || row.barred_until < job.refusal_ends_at) job.refusal_ends_at = row.barred_until;
}

void ClusterState::lift_refusals(JobRow& job) {
    if (!job.refusal_ends_at.happened() || job.refusal_ends_at > now_) return;
    if (planted(PlantedBug::refuse_binds_for_ever)) return;
    for (const PodId id : job.pods) {
        PodRow& row = pods_[id.value()];
        if (row.bar == PodBar::refused && row.barred_until <= now_) row.bar = PodBar::none;
    }
    find_end_of_refusal(job);
}

void ClusterState::find_end_of_refusal(JobRow& job) const {
    job.refusal_ends_at = Instant{};
    for (const PodId id : job.pods) {
        const PodRow& row = pods_[id.value()];
        if (row.bar != PodBar::refused) continue;
        const bool is_first = !job.refusal_ends_at.happened();
        if (is_first || row.barred_until < job.refusal_ends_at) {
            job.refusal_ends_at = row.barred_until;
        }
    }
}

void ClusterState::on(const BindOutcome& event, EffectList&) {
    const PodId id = find_pod(event.uid);
    if (!id.exists()) return;
    PodRow& row = pods_[id.value()];
    // An answer to an effect that was sent again under a new id says nothing we will not hear.
    const bool is_ours = row.effect == event.effect || planted(PlantedBug::ignore_effect_ids);
    // One that was not sent again, as its room was gone, may have landed all the same.
    const bool has_landed =
        row.standing == PodStanding::assumed && event.result == BindResult::bound;
    if (!is_ours || !(row.in_flight || has_landed)) return;
    const JobId job_id = row.job;
    JobRow& job = jobs_[job_id.value()];
    row.in_flight = false;
    row.message = event.result == BindResult::bound ? "" : event.message;
    mark_dirty(job_id);
    switch (event.result) {
        case BindResult::bound:
            row.standing = PodStanding::bound;  // the watch will say so too, some time
            if (may_be_preempted(row)) note_victim(job.queue);
            row.effect = EffectId{};
            row.unsure_until = Instant{};
            job.bind_failures = 0;
            break;
        case BindResult::elsewhere:
            give_up_assumption(id);
            set_bar(row, PodBar::elsewhere);
            break;
        case BindResult::gone:
            give_up_assumption(id);
            set_bar(row, PodBar::gone);
            job.member_refused = true;
            break;
        case BindResult::refused:
            set_bar(row, PodBar::refused);
            job.member_refused = true;
            if (is_unsure(row)) {  // what an earlier term sent may land yet: its room is kept
                back_off(job);
            } else {
                give_up_assumption(id);
            }
            set_timer(job_id);
            break;
        case BindResult::failed:
            back_off(job);
            // A gang keeps its reservations and tries again until its deadline (G4).
            if (planted(PlantedBug::forget_failed_binds)) break;
            if (!job.gang_deadline.happened() && !is_unsure(row)) give_up_assumption(id);
            set_timer(job_id);
            break;
    }
}

void ClusterState::on(const PodDeleteOutcome& event, EffectList&) {
    const PodId id = find_pod(event.uid);
    if (!id.exists() || !pods_[id.value()].delete_in_flight) return;
    PodRow& row = pods_[id.value()];
    if (event.deleted) return note_rolled_back(id);  // in flight until the watch shows it
    if (planted(PlantedBug::ignore_failed_deletions)) return;
    row.delete_in_flight = false;
    row.message = event.message;
    if (!row.job.exists()) return;
    back_off(jobs_[row.job.value()]);
    mark_dirty(row.job);
    set_timer(row.job);
}

}  // namespace gpuctl
