#include "scheduler/state/jobs/retention.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {
namespace {

// After the last pod of a job has gone, its controller may create the next one within this time.
constexpr Duration kRanksKept = Duration::seconds(3600);

// The clocks of nodes set the end times of pods. A clock that is ahead must not make a job kept for
// longer.
Instant end_of(const ClusterState& state, const JobRow& job, Instant now) {
    if (job.retention.past && job.pods.empty()) return job.retention.past->ended_at;
    Instant last = job.run.finished_at;
    for (const PodId id : job.pods) last = std::max(last, state.pod(id).facts.finished_at);
    return last.happened() ? std::min(last, now) : now;
}

}  // namespace

void Retention::note_end(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    Instant& ended_at = row(id).ended_at;
    const bool was_ended = job.retention.phase() == RetentionPhase::in_full;
    if (!job.live || has_ended(state_, job) == was_ended) return;
    if (was_ended) {
        state_.jobs.finished_jobs_.forget(ended_at, job.arrival, id);
        ended_at = Instant{};
        return;
    }
    ended_at = end_of(state_, job, state_.session.event_time());
    state_.jobs.finished_jobs_.add_in_full(ended_at, job.arrival, id);
}

// Before everything that exists was reported, a job may look finished because its other pods have
// not been seen yet.
void Retention::settle(EffectList& effects) {
    for (const JobId id : state_.jobs.maybe_ended_) note_end(id);
    state_.jobs.maybe_ended_.clear();
    if (!state_.session.synced()) return;
    FinishedJobs& finished = state_.jobs.finished_jobs_;
    const std::int32_t more = has_fault(SeededFault::keep_one_finished_too_many) ? 1 : 0;
    const auto most =
        static_cast<std::size_t>(std::max(state_.session.policy().finished_jobs_maximum, 0) + more);
    const auto in_full = std::min(most, static_cast<std::size_t>(std::max(
                                            state_.session.policy().finished_jobs_detailed, 0)));
    while (!finished.in_full().empty()) {
        const bool is_newest = has_fault(SeededFault::summarize_the_newest);
        const auto [ended_at, arrival, id] =
            is_newest ? *finished.in_full().rbegin() : *finished.in_full().begin();
        if (finished.in_full().size() <= in_full && !is_too_old(ended_at)) break;
        summarize(id, effects);
    }
    while (const FinishedJob* oldest = finished.oldest()) {
        if (finished.size() <= most && !is_too_old(oldest->ended_at)) break;
        state_.jobs.changes_.note_summary(oldest->key);
        finished.remove_oldest(state_.session.event_time());
    }
}

bool Retention::is_too_old(Instant ended_at) const {
    if (has_fault(SeededFault::keep_finished_for_ever)) return false;
    return ended_at + state_.session.policy().finished_jobs_kept_for <= state_.session.event_time();
}

// In whole minutes, so that a thousand jobs that end one after the other cause one wake-up.
Instant Retention::next_due() const {
    constexpr std::int64_t minute = 60'000;
    if (!state_.session.synced()) return {};
    const Instant due =
        state_.jobs.finished_jobs_.next_end(state_.session.policy().finished_jobs_kept_for);
    return Instant{(due.ms() + minute - 1) / minute * minute};
}

void Retention::summarize(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    FinishedJob summary = summary_of(state_, job);
    keep_pods(id, summary, effects);
    // The summary keeps what drop_job() would otherwise store as ranks of a job that is gone.
    if (!job.record) {
        summary.run = EndedRun{state_.gangs.take_finished(id), has_started(job.gang.phase()),
                               job.run.earlier_runs_until, job.run.last_phase};
    }
    state_.jobs.drop_job(id);
    state_.jobs.changes_.note_summary(summary.key);
    state_.jobs.finished_jobs_.add(std::move(summary));
}

void Retention::keep_pods(JobId id, FinishedJob& summary, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    auto& drop = effects.reuse<DropDetails>();
    drop.job = job.key;
    drop.job_uid = summary.uid;
    drop.pods.clear();
    for (const PodId pod_id : job.pods) {
        const PodFacts& pod = state_.pods.rows()[pod_id.value()].facts;
        drop.pods.push_back(pod.uid);
        EndedPod& ended = summary.ended_pods.emplace_back(ended_pod_of(pod, job.key));
        ended.is_rank = ended.is_rank && !job.record;
        if (!job.record) state_.gangs.note_gone(id, pod);  // another pod of the job may come
    }
    state_.pods.forget_pods_of(id);
}

JobId Retention::bring_back(const ObjectKey& key) {
    FinishedJob past = state_.jobs.finished_jobs_.extract(key);
    state_.jobs.changes_.note_summary(key);
    const JobId id = state_.jobs.make_job(key, past.submitted_at);
    JobBase& job = state_.jobs.jobs_.base(id, Jobs::key());
    job.arrival = past.arrival;
    job.pool_wanted = past.pool;
    job.queue_wanted = past.queue;
    state_.run_times.restore_run(id, past, {});
    if (past.run) {
        state_.gangs.restore_run(id, std::move(past.run->ranks), past.run->gang_started, {});
        past.run.reset();
    }
    if (!past.uid.empty()) restore_record(id, past);
    const std::int32_t priority = past.priority;
    const auto named = state_.jobs.job_ids().find(key);
    state_.jobs.finished_jobs_.add_pods(past.ended_pods, named->first);
    row(id).past = std::move(past);
    state_.jobs.move_to(id, job.pool, job.queue, priority);
    state_.jobs.resolve(id);
    state_.jobs.mark_dirty(id);
    return id;
}

// Restores what is needed of the record to delete the job.
void Retention::restore_record(JobId id, const FinishedJob& past) {
    JobBase& job = state_.jobs.jobs_.base(id, Jobs::key());
    JobRecord record;
    record.uid = past.uid;
    record.spec.key = past.key;
    record.spec.kind = past.kind;
    record.spec.pool = past.pool;
    record.spec.queue = past.queue;
    record.spec.replicas_min = record.spec.replicas_max = static_cast<std::int32_t>(past.pods);
    record.idempotency_key = past.idempotency_key;
    record.submitted_at = past.submitted_at;
    job.record = std::move(record);
    state_.workloads.restore_state(id, past, {});
}

bool Retention::is_known_end(const PodFacts& pod) {
    if (!has_ended_pods()) return false;
    const CompactUid uid = compact_uid(pod.uid);
    if (state_.jobs.finished_jobs_.job_of(uid) == nullptr) return false;
    if (is_terminal(pod.phase) && !has_fault(SeededFault::take_ended_pods_for_new)) return true;
    remove_pod(uid);  // it runs again: treat it like a new pod
    return false;
}

// A new pod of the same name: the earlier one is gone, even if that was not reported yet.
void Retention::forget_namesake(const PodFacts& pod) {
    if (!has_ended_pods()) return;
    const ObjectKey key{pod.key.namespace_name, pod.job};
    const JobId id = state_.jobs.find_job(key);
    const FinishedJob* past = state_.jobs.finished_jobs_.find(key);
    if (id.exists() && state_.jobs.rows()[id.value()].retention.past)
        past = &*state_.jobs.rows()[id.value()].retention.past;
    if (past == nullptr) return;
    const auto is_namesake = [&](const EndedPod& one) { return name_of(one, key) == pod.key.name; };
    const auto found = std::find_if(past->ended_pods.begin(), past->ended_pods.end(), is_namesake);
    if (found != past->ended_pods.end()) remove_pod(CompactUid{found->uid});
}

bool Retention::is_old_news(const PodFacts& pod) const {
    if (!is_terminal(pod.phase) || !pod.finished_at.happened()) return false;
    return is_too_old(pod.finished_at) ||
           pod.finished_at <= state_.jobs.finished_jobs_.removed_until().first;
}

void Retention::remove_pod(const CompactUid& uid) {
    FinishedJobs& finished = state_.jobs.finished_jobs_;
    const ObjectKey* const owner = finished.job_of(uid);
    if (owner == nullptr) return;
    const JobId id = state_.jobs.find_job(*owner);
    if (id.exists()) {
        std::erase_if(row(id).past->ended_pods,
                      [&uid](const EndedPod& pod) { return pod.uid == uid; });
        finished.forget_pod(uid);
        state_.jobs.mark_dirty(id);
        return state_.jobs.drop_job_if_unused(id);
    }
    const ObjectKey key = *owner;
    state_.jobs.changes_.note_summary(key);
    finished.remove_pod(key, uid);
    const FinishedJob& job = finished.by_key().at(key);
    // A job without a record consists only of its pods.
    if (!job.uid.empty() || !job.ended_pods.empty()) return;
    FinishedJob gone = finished.extract(key);
    if (gone.run) keep_ranks(key, std::move(gone.run->ranks));
}

void Retention::keep_ranks(const ObjectKey& job, FinishedRanks ranks) {
    if (ranks.empty()) return;
    const Instant now = state_.session.event_time();
    std::erase_if(state_.jobs.finished_,
                  [now](const auto& entry) { return entry.second.left_at + kRanksKept <= now; });
    ranks.left_at = now;
    state_.jobs.finished_[job] = std::move(ranks);
}

void Retention::restore(JobId id, Key<StateReader>) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.retention.past) {
        const auto named = state_.jobs.job_ids().find(job.key);
        state_.jobs.finished_jobs_.add_pods(job.retention.past->ended_pods, named->first);
    }
    if (job.retention.phase() == RetentionPhase::in_full)
        return state_.jobs.finished_jobs_.add_in_full(job.retention.ended_at, job.arrival, id);
    note_end(id);  // an image of a version that did not note it
}

}  // namespace gpuctl
