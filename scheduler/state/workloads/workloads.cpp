#include <algorithm>
#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {

void Workloads::on(const JobSubmitted& event, EffectList& effects) {
    const JobRecord& record = event.job;
    // The API refuses a name that is taken; one that slips through must not take another's place.
    // One that the cluster refused for good never was a job: it is written anew.
    if (const FinishedJob* past = state_.jobs.finished_jobs().find(record.spec.key);
        past && !past->uid.empty()) {
        if (!past->never_made && !planted(PlantedBug::finished_names_are_free)) return;
        Retention{state_}.remove_job(record.spec.key);
    }
    const JobId id = state_.jobs.job_named(record.spec.key, record.submitted_at);
    JobRow& job = state_.jobs.rows()[id.value()];
    if (job.record && job.workload.state != WorkloadState::failed) return;
    job.record = record;
    job.workload.failures = 0;
    job.workload.not_before = Instant{};
    job.workload.message.clear();
    job.submitted_at =
        record.submitted_at.happened() ? record.submitted_at : state_.session.event_time();
    job.workload.state = WorkloadState::creating;
    job.workload.due = true;
    job.pool_wanted = record.spec.pool.empty() ? kDefaultPool : record.spec.pool;
    job.queue_wanted = record.spec.queue;
    state_.accounts.recharge(job, job.pool, job.queue, priority_value(record.spec.priority));
    state_.jobs.resolve(job);
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
    JobRow& job = state_.jobs.rows()[id.value()];
    if (job.workload.state == WorkloadState::deleting) {
        if (!event.force || job.workload.force_delete) return;
        job.workload.force_delete = true;  // asked again, less gently: send again
        job.workload.due = true;
        job.workload.not_before = Instant{};
        return send_workload(id, effects);
    }
    const bool never_sent = job.workload.state == WorkloadState::creating &&
                            job.workload.effect == EffectId{} && !job.workload.in_flight;
    const bool never_made = job.workload.state == WorkloadState::failed && job.pods.empty() &&
                            job.workload.create_lands_until < state_.session.event_time();
    if (const auto moved = state_.evictions.churn().find(job.key);
        moved != state_.evictions.churn().end()) {
        moved->second.done_before = moved->second.done = Duration{};  // the next one is another job
        state_.run_times.history().touch(job.tenant);
    }
    job.workload.state = WorkloadState::deleting;
    job.workload.force_delete = event.force;
    if (planted(PlantedBug::delete_overtakes_create)) job.workload.in_flight = false;
    // Nothing to delete where nothing was made.
    job.workload.due = !never_sent && !never_made;
    job.workload.failures = 0;
    job.workload.not_before = Instant{};
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
    JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.workload.in_flight || job.workload.effect != event.effect) return;
    job.workload.in_flight = false;
    job.workload.message = event.done ? "" : event.message;
    job.workload.create_deadline = Instant{};
    state_.jobs.mark_dirty(id);
    if (job.workload.due) return send_workload(id, effects);  // a delete waited for this answer
    if (event.done) {
        job.workload.failures = 0;
        if (job.workload.state == WorkloadState::creating)
            job.workload.state = WorkloadState::created;
        const bool may_come_back = job.workload.state == WorkloadState::deleting &&
                                   job.workload.create_lands_until.happened() &&
                                   job.workload.create_lands_until >= state_.session.event_time();
        if (may_come_back) {  // then it must go once more, or nobody would ever take it away
            job.workload.due = true;
            job.workload.not_before = job.workload.create_lands_until + Duration{1};
            send_later(job);
            return state_.session.set_timer(id);
        }
        return state_.jobs.drop_job_if_unused(id);
    }
    if (event.retryable) {
        ++job.workload.failures;
        job.workload.due = true;
        job.workload.not_before =
            state_.session.event_time() + backoff_after(job.workload.failures,
                                                        state_.session.policy().backoff_initial,
                                                        state_.session.policy().backoff_maximum);
        send_later(job);
        return state_.session.set_timer(id);
    }
    // For good: a job that could not be made has failed; one that could not be deleted stays.
    job.workload.state = job.workload.state == WorkloadState::creating ? WorkloadState::failed
                                                                       : WorkloadState::created;
}

void Workloads::on(const WorkloadObserved& event, EffectList&) {
    const JobId id = state_.jobs.find_job(event.workload.key);
    if (!id.exists()) return;
    JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.record || job.record->uid != event.workload.job_uid) return;
    job.workload.facts = event.workload;
    state_.jobs.maybe_ended().push_back(id);
    state_.jobs.changes().note(id);
    state_.elastic.note_size(id, event.workload.replicas);
}

// Somebody else took it away: a user with kubectl, or Kubernetes after its time to live. The API
// server decides what exists (ruling 22), so the record goes; pods that are left go by themselves.
void Workloads::on(const WorkloadRemoved& event, EffectList&) {
    const JobId id = state_.jobs.find_job(event.key);
    const FinishedJob* const past = state_.jobs.finished_jobs().find(event.key);
    if (past != nullptr && past->uid == event.job_uid)
        return Retention{state_}.remove_job(event.key);
    if (!id.exists()) return;
    JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.record || job.record->uid != event.job_uid) return;
    job.workload.facts.reset();
    if (job.workload.state != WorkloadState::created) return;  // a write of ours is under way
    job.record.reset();
    job.workload.state = WorkloadState::none;
    job.elastic = {};
    state_.elastic.elastic_jobs().erase({job.arrival, id});
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
    JobRow& job = state_.jobs.rows()[id.value()];
    job.record = record;
    state_.elastic.begin_size(id);
    job.workload.state = WorkloadState::created;
    if (record.submitted_at.happened()) job.submitted_at = record.submitted_at;
    state_.jobs.mark_dirty(id);
    if (!job.pods.empty()) return;  // they say where it waits
    job.pool_wanted = record.spec.pool.empty() ? kDefaultPool : record.spec.pool;
    job.queue_wanted = record.spec.queue;
    state_.accounts.recharge(job, job.pool, job.queue, priority_value(record.spec.priority));
    state_.jobs.resolve(job);
}

}  // namespace gpuctl
