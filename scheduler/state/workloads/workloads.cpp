#include <algorithm>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {

void Workloads::on(const JobSubmitted& event, EffectList& effects) {
    const JobRecord& record = event.job;
    // The API refuses a name that is in use; a submission that passes nevertheless must not replace
    // another job. A job that the cluster refused for good was never created: it is written again.
    if (const FinishedJob* past = state_.jobs.finished_jobs().find(record.spec.key);
        past && !past->uid.empty()) {
        if (!past->never_made && !has_fault(SeededFault::finished_names_are_free)) return;
        Retention{state_}.remove_job(record.spec.key);
    }
    const JobId id = state_.jobs.job_named(record.spec.key, record.submitted_at);
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.record && job.workload.state != WorkloadState::failed) return;
    state_.jobs.set_record(
        id, record,
        record.submitted_at.happened() ? record.submitted_at : state_.session.event_time());
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    workload.failures = 0;
    workload.not_before = Instant{};
    workload.message.clear();
    workload.state = WorkloadState::creating;
    workload.due = true;
    state_.jobs.set_route(id, record.spec.pool, record.spec.queue);
    state_.jobs.move_to(id, job.pool, job.queue, priority_value(record.spec.priority));
    state_.jobs.resolve(id);
    state_.elastic.begin_size(id);
    state_.jobs.mark_dirty(id);
    send_workload(id, effects);
}

void Workloads::on(const JobDeleteRequested& event, EffectList& effects) {
    JobId id = state_.jobs.find_job(event.key);
    if (!id.exists() && state_.jobs.finished_jobs().find(event.key) != nullptr) {
        id = Retention{state_}.bring_back(event.key);
    }
    if (!id.exists() || !state_.jobs.rows()[id.value()].record) return;
    const JobRow& job = state_.jobs.rows()[id.value()];
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    if (workload.state == WorkloadState::deleting) {
        if (!event.force || workload.force_delete) return;
        workload.force_delete = true;  // requested again, with force
        workload.due = true;
        workload.not_before = Instant{};
        return send_workload(id, effects);
    }
    const bool never_sent = workload.state == WorkloadState::creating &&
                            workload.effect == EffectId{} && !workload.in_flight;
    const bool never_made = workload.state == WorkloadState::failed && job.pods.empty() &&
                            workload.create_lands_until < state_.session.event_time();
    state_.evictions.forget_work(job);
    state_.seats.forget(id);
    // the object that exists may be that of the record before
    if (const ChangeRow& change = job.change; change.before && !workload.in_flight)
        take_record(id, JobRecord{*change.before});
    state_.jobs.rows().change(id, {}).part = WorkloadPart::none;
    state_.jobs.rows().change(id, {}).before.reset();
    workload.state = WorkloadState::deleting;
    workload.force_delete = event.force;
    if (has_fault(SeededFault::delete_overtakes_create)) workload.in_flight = false;
    // There is nothing to delete if nothing was created.
    workload.due = !never_sent && !never_made;
    workload.failures = 0;
    workload.not_before = Instant{};
    state_.jobs.mark_dirty(id);
    send_workload(id, effects);
    state_.jobs.drop_job_if_unused(id);
}

void Workloads::send_due_workloads(EffectList& effects) {
    for (auto at = unsent_.begin(); at != unsent_.end();) {
        const JobId id = state_.jobs.find_job(*at);
        if (id.exists()) send_workload(id, effects);
        const bool waits = id.exists() && state_.jobs.rows()[id.value()].workload.due;
        at = waits ? std::next(at) : unsent_.erase(at);
    }
}

void Workloads::on(const WorkloadOutcome& event, EffectList& effects) {
    const JobId id = state_.jobs.find_job(event.key);
    if (!id.exists()) return;
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    if (!workload.in_flight || workload.effect != event.effect) return;
    workload.in_flight = false;
    workload.message = event.done ? "" : event.message;
    workload.create_deadline = Instant{};
    state_.jobs.mark_dirty(id);
    if (workload.due) return send_workload(id, effects);  // a delete waited for this answer
    if (event.done) {
        workload.failures = 0;
        if (workload.state == WorkloadState::creating) workload.state = WorkloadState::created;
        ChangeRow& change = state_.jobs.rows().change(id, {});
        change.part = WorkloadPart::none;
        change.before.reset();
        const bool may_come_back = workload.state == WorkloadState::deleting &&
                                   workload.create_lands_until.happened() &&
                                   workload.create_lands_until >= state_.session.event_time();
        if (may_come_back) {  // then it must be deleted once more, or it would stay for ever
            workload.due = true;
            workload.not_before = workload.create_lands_until + Duration{1};
            send_later(state_.jobs.rows()[id.value()]);
            return state_.session.set_timer(id);
        }
        return state_.jobs.drop_job_if_unused(id);
    }
    if (event.retryable) {
        ++workload.failures;
        workload.due = true;
        workload.not_before =
            state_.session.event_time() + backoff_after(workload.failures,
                                                        state_.session.policy().backoff_initial,
                                                        state_.session.policy().backoff_maximum);
        send_later(state_.jobs.rows()[id.value()]);
        return state_.session.set_timer(id);
    }
    // A final failure: a job that could not be created has failed; a job that could not be changed
    // or deleted stays.
    if (workload.state == WorkloadState::created) return undo_change(id);
    workload.state =
        workload.state == WorkloadState::creating ? WorkloadState::failed : WorkloadState::created;
}

void Workloads::on(const WorkloadObserved& event, EffectList&) {
    const JobId id = state_.jobs.find_job(event.workload.key);
    if (!id.exists()) return;
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.record || job.record->uid != event.workload.job_uid) return;
    state_.jobs.rows().workload(id, {}).facts = event.workload;
    state_.seats.note_workload(id, event.workload);
    state_.jobs.note_maybe_ended(id);
    state_.jobs.note_change(id);
    state_.elastic.note_size(id, event.workload.replicas);
}

// Another client deleted the object: a user with kubectl, or Kubernetes after its time to live. The
// API server decides which objects exist, so the record is dropped; remaining pods end without us.
void Workloads::on(const WorkloadRemoved& event, EffectList&) {
    const JobId id = state_.jobs.find_job(event.key);
    const FinishedJob* const past = state_.jobs.finished_jobs().find(event.key);
    if (past != nullptr && past->uid == event.job_uid)
        return Retention{state_}.remove_job(event.key);
    if (!id.exists()) return;
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.record || job.record->uid != event.job_uid) return;
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    workload.facts.reset();
    if (workload.state != WorkloadState::created) return;  // one of our writes is under way
    state_.jobs.drop_record(id);
    state_.seats.forget(id);
    state_.jobs.rows().change(id, {}) = {};
    workload.due = workload.in_flight = false;  // there is nothing to change any more
    workload.state = WorkloadState::none;
    state_.elastic.end_size(id);
    state_.jobs.mark_dirty(id);
    state_.jobs.drop_job_if_unused(id);
}

void Workloads::on(const JobAdopted& event, EffectList&) {
    const JobRecord& record = event.job;
    if (const FinishedJob* past = state_.jobs.finished_jobs().find(record.spec.key)) {
        if (past->uid == record.uid) return;
        if (!past->uid.empty()) Retention{state_}.remove_job(record.spec.key);
    }
    const JobId known = state_.jobs.find_job(record.spec.key);
    if (known.exists() && state_.jobs.rows()[known.value()].record) return;
    const JobId id = state_.jobs.job_named(record.spec.key, record.submitted_at);
    const JobRow& job = state_.jobs.rows()[id.value()];
    state_.jobs.set_record(id, record, record.submitted_at);
    state_.elastic.begin_size(id);
    state_.jobs.rows().workload(id, {}).state = WorkloadState::created;
    state_.jobs.mark_dirty(id);
    if (!job.pods.empty()) return;  // its pods name its pool and queue
    state_.jobs.set_route(id, record.spec.pool, record.spec.queue);
    state_.jobs.move_to(id, job.pool, job.queue, priority_value(record.spec.priority));
    state_.jobs.resolve(id);
}

// The answer is unknown: the request may still be carried out until its deadline.
void Workloads::forget_answer(JobId id) {
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    workload.create_lands_until = std::max(workload.create_lands_until, workload.create_deadline);
    workload.create_deadline = Instant{};
    if (workload.in_flight) workload.due = true;
    workload.in_flight = false;
    if (workload.due) send_later(state_.jobs.rows()[id.value()]);
}

void Workloads::note_resize(JobId id, std::string message) {
    state_.jobs.rows().workload(id, {}).message = std::move(message);
}

void Workloads::restore_state(JobId id, const FinishedJob& past, Key<Retention>) {
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    workload.state = past.never_made ? WorkloadState::failed : WorkloadState::created;
    workload.message = past.never_made ? past.message : "";
    if (past.never_made) return;
    const WorkloadPhase end = past.failed ? WorkloadPhase::failed : WorkloadPhase::complete;
    workload.facts = WorkloadFacts{past.key, past.uid, end, -1, past.message};
}

}  // namespace gpuctl
