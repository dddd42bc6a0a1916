#include <algorithm>
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"
#include "scheduler/state/jobs/retention.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {

bool Session::wants_plan() const {
    if (!leading_ || !synced_) return false;
    const bool has_unplaced_work =
        state_.waiting.book().jobs_waiting() > 0 || !state_.elastic.elastic_jobs().empty();
    return resend_due_ || state_.jobs.has_dirty() ||
           state_.maintenance.calendar().clock.phase() == DrainPhase::due ||
           (!idle_ && has_unplaced_work);
}

// One timer per job, at the earliest time at which it has something to do.
void Session::set_timer(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    Instant next;
    const auto consider = [&](Instant at) {
        if (at > now_ && (!next.happened() || at < next)) next = at;
    };
    if (!has_fault(SeededFault::no_timer_for_backoff)) consider(job.binding.not_before);
    consider(job.binding.refusal_ends_at);
    if (!has_fault(SeededFault::no_timer_for_gangs)) consider(job.gang.deadline);
    if (!has_fault(SeededFault::no_timer_for_stranded_gangs))
        consider(state_.gangs.stranded_from(job));
    if (job.workload.due && !has_fault(SeededFault::no_timer_for_workloads)) {
        consider(job.workload.not_before);
    }
    if (!has_fault(SeededFault::no_timer_for_nominations)) consider(job.nomination.until);
    consider(job.nomination.evict_again_at);
    if (state_.elastic.is_elastic(job)) consider(state_.elastic.next_size_change(job));
    if (job.elastic.deferred_from > 0) consider(job.elastic.grow_from);
    if (const auto target = wait_target_of(state_, job)) {
        if (!has_fault(SeededFault::no_timer_for_wait_targets)) consider(target->near_from);
        consider(target->missed_from);
    }
    consider(Seats::next_end(job));
    if (!has_fault(SeededFault::no_timer_for_the_late)) consider(job.run.lateness.again_at);
    if (next == job.timer_at) return;
    if (job.timer_at.happened()) timers_.erase({job.timer_at, job.arrival, id});
    state_.jobs.rows().timer_at(id, {}) = next;
    if (next.happened()) timers_.emplace(next, job.arrival, id);
}

void Session::ring_timers() {
    state_.tree.note_ends_of_protection();
    // No job waits any longer for a pod that should have terminated: other pods may be evicted
    // instead, its room is not reserved, and the job for which it was evicted gives up.
    for (PodId id = state_.pods.take_late(now_); id.exists(); id = state_.pods.take_late(now_)) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        state_.pods.note_termination(id);
        if (pod.node.exists()) state_.tree.note_change(state_.nodes.rows()[pod.node.value()].pool);
        if (const JobId by = state_.jobs.find_job(pod.eviction.preemptor); by.exists())
            state_.jobs.mark_dirty(by);
    }
    while (!timers_.empty() && std::get<Instant>(*timers_.begin()) <= now_) {
        const JobId id = std::get<JobId>(*timers_.begin());
        timers_.erase(timers_.begin());
        state_.jobs.rows().timer_at(id, {}) = Instant{};
        state_.jobs.mark_dirty(id);
        set_timer(id);
    }
}

void Session::drop_timer(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.timer_at.happened()) timers_.erase({job.timer_at, job.arrival, id});
}

void Session::restore_timer(JobId id, Key<StateReader>) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.timer_at.happened() && !has_fault(SeededFault::forget_timers_on_disk))
        timers_.emplace(job.timer_at, job.arrival, id);
}

void Session::restore(const StateImage& image, Key<StateReader>) {
    leading_ = image.leading;
    synced_ = image.synced;
    idle_ = image.idle;
    unfinished_ = image.unfinished;
    resend_due_ = image.resend_due;
    epoch_ = image.epoch;
    next_effect_ = image.next_effect;
    wake_requested_ = image.wake_requested;
}

bool Session::note_leadership(bool leading, Epoch epoch) {
    const bool is_new_term = leading && (!leading_ || epoch != epoch_);
    leading_ = leading;
    epoch_ = epoch;
    if (is_new_term) resend_due_ = true;
    return is_new_term;
}

void Session::request_wake(EffectList& effects, bool again) {
    // The process that was asked to wake us may be gone, even if nothing is due now: with a stale
    // wake-up recorded, later ones would not be requested.
    const bool believes = timers_.empty() && has_fault(SeededFault::believe_in_old_wakes);
    if (again && !believes) wake_requested_ = Instant{};
    Instant earliest = state_.tree.look_again_next();
    const auto consider = [&earliest](Instant at) {
        if (at.happened() && (!earliest.happened() || at < earliest)) earliest = at;
    };
    if (!state_.pods.late_next().empty()) consider(state_.pods.late_next().begin()->first);
    if (!timers_.empty()) consider(std::get<Instant>(*timers_.begin()));
    if (!has_fault(SeededFault::no_timer_for_windows))
        consider(state_.maintenance.calendar().clock.turns_at);
    if (!has_fault(SeededFault::no_timer_for_budgets))
        consider(state_.accounts.budgets().turns_at());
    consider(Retention{state_}.next_due());
    if (!earliest.happened()) return;
    // A wake-up that comes too early does no harm, so a later time replaces it only after it has
    // come.
    if (wake_requested_.happened() && wake_requested_ <= earliest) return;
    wake_requested_ = earliest;
    effects.add(WakeAt{earliest});
}

}  // namespace gpuctl
