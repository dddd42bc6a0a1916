// Jobs: submitted and deleted by users, or simply there because their pods are.

#include <algorithm>

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/retention.hpp"

namespace gpuctl {

namespace {

// From asking for a workload to the last moment at which that may be carried out.
constexpr Duration kCreateDeadline = Duration::seconds(30);

}  // namespace

JobId ClusterState::job_named(const ObjectKey& key, Instant submitted_at) {
    if (const auto found = job_ids_.find(key); found != job_ids_.end()) return found->second;
    if (finished_jobs_.find(key) != nullptr) return Retention{*this}.bring_back(key);
    return make_job(key, submitted_at);
}

JobId ClusterState::make_job(const ObjectKey& key, Instant submitted_at) {
    JobId id{static_cast<std::uint32_t>(jobs_.size())};
    if (jobs_vacant_.empty()) {
        jobs_.emplace_back();
    } else {
        id = jobs_vacant_.back();
        jobs_vacant_.pop_back();
    }
    JobRow& row = jobs_[id.value()];
    row = JobRow{};
    row.live = true;
    row.key = key;
    row.tenant = tenant_named(key.namespace_name);
    row.arrival = next_arrival_++;
    row.submitted_at = submitted_at.happened() ? submitted_at : now_;
    row.pool_wanted = kDefaultPool;
    if (const auto left = finished_.find(key); left != finished_.end()) {
        row.finished = std::move(left->second);
        finished_.erase(left);
    }
    job_ids_.emplace(key, id);
    changes_.note(id);
    resolve(row);
    return id;
}

void ClusterState::drop_job_if_unused(JobId id) {
    JobRow& row = jobs_[id.value()];
    if (!row.live || !row.pods.empty()) return;
    if (row.past && !row.past->ended_pods.empty()) return;
    const bool workload_gone =
        row.workload == WorkloadState::deleting && !row.workload_due && !row.workload_in_flight;
    if (row.record && !workload_gone && !planted(PlantedBug::lose_jobs_without_pods)) return;
    drop_job(id);
}

void ClusterState::drop_job(JobId id) {
    JobRow& row = jobs_[id.value()];
    leave_queue(id);
    if (row.claim_until.happened()) drop_claim(id);
    if (row.record) churn_.erase(row.key);  // who is submitted under its name is another job
    elastic_jobs_.erase({row.arrival, id});
    stranded_gangs_.erase({row.arrival, id});
    if (counts_work_) work_stale_.push_back(id);
    if (row.timer_at.happened()) timers_.erase({row.timer_at, row.arrival, id});
    if (row.is_dirty) std::erase(dirty_, id);
    if (row.ended_at.happened()) finished_jobs_.forget(row.ended_at, row.arrival, id);
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
        if (pools_[pool].promise.job == id) promise(PoolId{pool}, {});
        const std::size_t kept = std::erase_if(pools_[pool].limits_kept,
                                               [id](const Promise& one) { return one.job == id; });
        if (kept == 0) continue;
        ++pools_[pool].promises;
        idle_ = false;
    }
    if (!row.record) Retention{*this}.keep_ranks(row.key, std::move(row.finished));
    changes_.note(id);
    job_ids_.erase(row.key);
    row = JobRow{};
    jobs_vacant_.push_back(id);
}

JobId ClusterState::find_job(const ObjectKey& key) const {
    const auto found = job_ids_.find(key);
    return found == job_ids_.end() ? JobId::none() : found->second;
}

std::string queue_suggested_for(const ClusterState& state, const JobRow& job) {
    const auto& notes = state.outside().gang_notes;
    const auto found = notes.find(job.key);
    if (found != notes.end() && !found->second.queue.empty()) return found->second.queue;
    return job.pods.empty() ? "" : state.pod(job.pods.front()).facts.queue_suggested;
}

std::string ignored_queue_text(const ClusterState& state, const JobRow& job) {
    if (!job.queue_wanted.empty() || !job.pool.exists()) return "";
    const std::string suggested = queue_suggested_for(state, job);
    if (suggested.empty() || state.queue_name_of(job) == suggested) return "";
    const bool is_there = state.find_queue(job.pool, suggested).exists();
    return "; queue " + suggested +
           ", which its PodGroup or its pods name for another scheduler, " +
           "is ignored: in pool " + state.pool(job.pool).name +
           (is_there ? " it holds queues, not jobs" : " there is no such queue");
}

// Ruling 9. What was written for another scheduler counts where it names a queue that jobs may be
// in; the queue of a namespace is for the pools that have it.
std::string ClusterState::queue_name_of(const JobRow& job) const {
    if (!job.queue_wanted.empty()) return job.queue_wanted;
    if (std::string suggested = queue_suggested_for(*this, job); !suggested.empty()) {
        const PoolId pool = find_pool(job.pool_wanted);
        const QueueId queue = pool.exists() ? find_queue(pool, suggested) : QueueId::none();
        if (queue.exists() && queues_[queue.value()].children.empty()) return suggested;
    }
    const std::string& by_tenant = tenants_[job.tenant.value()].queue;
    const PoolId pool = find_pool(job.pool_wanted);
    const bool is_there = !pool.exists() || find_queue(pool, by_tenant).exists();
    return by_tenant.empty() || !is_there ? kDefaultQueue : by_tenant;
}

// Names to ids, as policy and nodes have it now.
void ClusterState::resolve(JobRow& job) {
    if (job.record) {
        const JobSpec& spec = job.record->spec;
        // Services and notebooks are not stopped at a limit.
        const bool is_run = spec.kind == JobKind::training;
        const Duration limit = is_run ? spec.run_time_max : Duration{};
        if (budgets_.change_limit(*this, job, limit)) note_room_in_limits(job);
        job.run_time_expected = job.record->spec.run_time_expected;
    }
    const PoolId pool = find_pool(job.pool_wanted);
    QueueId queue = QueueId::none();
    if (pool.exists()) {
        queue = job.priority >= kSystemPriority ? system_queue(pool)
                                                : find_queue(pool, queue_name_of(job));
    }
    recharge(job, pool, queue, job.priority);
}

void ClusterState::resolve_all() {
    for (const auto& [key, id] : job_ids_) resolve(jobs_[id.value()]);
    mark_all_dirty();
}

void ClusterState::mark_dirty(JobId id) {
    JobRow& row = jobs_[id.value()];
    changes_.note(id);
    if (counts_work_) work_stale_.push_back(id);
    maybe_ended_.push_back(id);
    if (row.is_dirty) return;
    row.is_dirty = true;
    dirty_.push_back(id);
}

std::vector<JobId> ClusterState::take_dirty() {
    refresh_shares();
    std::vector<JobId> taken = std::move(dirty_);
    dirty_.clear();
    for (const JobId id : taken) {
        jobs_[id.value()].is_dirty = false;
        leave_queue(id);  // all of them first: what a class remembers must not depend on the order
    }
    std::sort(taken.begin(), taken.end(), [this](JobId a, JobId b) {
        return jobs_[a.value()].arrival < jobs_[b.value()].arrival;
    });
    return taken;
}

// --- workloads ---

void ClusterState::on(const JobSubmitted& event, EffectList& effects) {
    const JobRecord& record = event.job;
    // The API refuses a name that is taken; one that slips through must not take another's place.
    // One that the cluster refused for good never was a job: it is written anew.
    if (const FinishedJob* past = finished_jobs_.find(record.spec.key);
        past && !past->uid.empty()) {
        if (!past->never_made && !planted(PlantedBug::finished_names_are_free)) return;
        Retention{*this}.remove_job(record.spec.key);
    }
    const JobId id = job_named(record.spec.key, record.submitted_at);
    JobRow& job = jobs_[id.value()];
    if (job.record && job.workload != WorkloadState::failed) return;
    job.record = record;
    job.workload_failures = 0;
    job.workload_not_before = Instant{};
    job.message.clear();
    job.submitted_at = record.submitted_at.happened() ? record.submitted_at : now_;
    job.workload = WorkloadState::creating;
    job.workload_due = true;
    job.pool_wanted = record.spec.pool.empty() ? kDefaultPool : record.spec.pool;
    job.queue_wanted = record.spec.queue;
    recharge(job, job.pool, job.queue, priority_value(record.spec.priority));
    resolve(job);
    begin_size(id);
    mark_dirty(id);
    send_workload(id, effects);
}

void ClusterState::on(const JobDeleteRequested& event, EffectList& effects) {
    JobId id = find_job(event.key);
    if (!id.exists() && finished_jobs_.find(event.key) != nullptr) {
        id = Retention{*this}.bring_back(event.key);
    }
    if (!id.exists() || !jobs_[id.value()].record) return;
    JobRow& job = jobs_[id.value()];
    if (job.workload == WorkloadState::deleting) {
        if (!event.force || job.force_delete) return;
        job.force_delete = true;  // asked again, less gently: send again
        job.workload_due = true;
        job.workload_not_before = Instant{};
        return send_workload(id, effects);
    }
    const bool never_sent = job.workload == WorkloadState::creating &&
                            job.workload_effect == EffectId{} && !job.workload_in_flight;
    const bool never_made =
        job.workload == WorkloadState::failed && job.pods.empty() && job.create_lands_until < now_;
    if (const auto moved = churn_.find(job.key); moved != churn_.end()) {
        moved->second.done_before = moved->second.done = Duration{};  // the next one is another job
        history_.touch(job.tenant);
    }
    job.workload = WorkloadState::deleting;
    job.force_delete = event.force;
    if (planted(PlantedBug::delete_overtakes_create)) job.workload_in_flight = false;
    // Nothing to delete where nothing was made.
    job.workload_due = !never_sent && !never_made;
    job.workload_failures = 0;
    job.workload_not_before = Instant{};
    mark_dirty(id);
    send_workload(id, effects);
    drop_job_if_unused(id);
}

// Sends what is due, if we may: one workload effect per job at a time, so that a create in flight
// cannot overtake the delete behind it.
void ClusterState::send_workload(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    if (!job.workload_due || job.workload_in_flight) return;  // its outcome sends what is behind it
    const bool may_write = leading_ || planted(PlantedBug::write_without_leading);
    if (!may_write || job.workload_not_before > now_) return send_later(job);
    job.workload_due = false;
    job.workload_in_flight = true;
    job.workload_effect = next_effect();
    if (job.workload == WorkloadState::deleting) {
        effects.add(DeleteWorkload{job.workload_effect, epoch_, job.key, job.record->spec.kind,
                                   job.force_delete});
    } else {
        job.create_deadline = now_ + kCreateDeadline;
        effects.add(CreateWorkload{job.workload_effect, epoch_, *job.record, job.create_deadline});
    }
}

void ClusterState::send_due_workloads(EffectList& effects) {
    for (auto at = unsent_.begin(); at != unsent_.end();) {
        const JobId id = find_job(*at);
        if (id.exists()) send_workload(id, effects);
        const bool waits = id.exists() && jobs_[id.value()].workload_due;
        at = waits ? std::next(at) : unsent_.erase(at);
    }
}

void ClusterState::on(const WorkloadOutcome& event, EffectList& effects) {
    const JobId id = find_job(event.key);
    if (!id.exists()) return;
    JobRow& job = jobs_[id.value()];
    if (!job.workload_in_flight || job.workload_effect != event.effect) return;
    job.workload_in_flight = false;
    job.message = event.done ? "" : event.message;
    job.create_deadline = Instant{};
    mark_dirty(id);
    if (job.workload_due) return send_workload(id, effects);  // a delete waited for this answer
    if (event.done) {
        job.workload_failures = 0;
        if (job.workload == WorkloadState::creating) job.workload = WorkloadState::created;
        const bool may_come_back = job.workload == WorkloadState::deleting &&
                                   job.create_lands_until.happened() &&
                                   job.create_lands_until >= now_;
        if (may_come_back) {  // then it must go once more, or nobody would ever take it away
            job.workload_due = true;
            job.workload_not_before = job.create_lands_until + Duration{1};
            send_later(job);
            return set_timer(id);
        }
        return drop_job_if_unused(id);
    }
    if (event.retryable) {
        ++job.workload_failures;
        job.workload_due = true;
        job.workload_not_before =
            now_ +
            backoff_after(job.workload_failures, policy_.backoff_initial, policy_.backoff_maximum);
        send_later(job);
        return set_timer(id);
    }
    // For good: a job that could not be made has failed; one that could not be deleted stays.
    job.workload =
        job.workload == WorkloadState::creating ? WorkloadState::failed : WorkloadState::created;
}

void ClusterState::on(const WorkloadObserved& event, EffectList&) {
    const JobId id = find_job(event.workload.key);
    if (!id.exists()) return;
    JobRow& job = jobs_[id.value()];
    if (!job.record || job.record->uid != event.workload.job_uid) return;
    job.workload_facts = event.workload;
    maybe_ended_.push_back(id);
    changes_.note(id);
    note_size(id, event.workload.replicas);
}

// Somebody else took it away: a user with kubectl, or Kubernetes after its time to live. The API
// server decides what exists (ruling 22), so the record goes; pods that are left go by themselves.
void ClusterState::on(const WorkloadRemoved& event, EffectList&) {
    const JobId id = find_job(event.key);
    const FinishedJob* const past = finished_jobs_.find(event.key);
    if (past != nullptr && past->uid == event.job_uid)
        return Retention{*this}.remove_job(event.key);
    if (!id.exists()) return;
    JobRow& job = jobs_[id.value()];
    if (!job.record || job.record->uid != event.job_uid) return;
    job.workload_facts.reset();
    if (job.workload != WorkloadState::created) return;  // a write of ours is under way
    job.record.reset();
    job.workload = WorkloadState::none;
    job.elastic = {};
    elastic_jobs_.erase({job.arrival, id});
    mark_dirty(id);
    drop_job_if_unused(id);
}

void ClusterState::on(const JobAdopted& event, EffectList&) {
    const JobRecord& record = event.job;
    if (const FinishedJob* past = finished_jobs_.find(record.spec.key)) {
        if (past->uid == record.uid) return;
        if (!past->uid.empty()) Retention{*this}.remove_job(record.spec.key);
    }
    const JobId known = find_job(record.spec.key);
    if (known.exists() && jobs_[known.value()].record) return;
    const JobId id = job_named(record.spec.key, record.submitted_at);
    JobRow& job = jobs_[id.value()];
    job.record = record;
    begin_size(id);
    job.workload = WorkloadState::created;
    if (record.submitted_at.happened()) job.submitted_at = record.submitted_at;
    mark_dirty(id);
    if (!job.pods.empty()) return;  // they say where it waits
    job.pool_wanted = record.spec.pool.empty() ? kDefaultPool : record.spec.pool;
    job.queue_wanted = record.spec.queue;
    recharge(job, job.pool, job.queue, priority_value(record.spec.priority));
    resolve(job);
}

// --- gang sizes ---

void ClusterState::on(const GangObserved& event, EffectList&) {
    const bool is_new = !gang_sizes_.contains(event.key);
    GangSize& known = gang_sizes_[event.key];
    if (is_new) rejoin(pods_that_name(*this, event.key));
    const auto said = outside_.gang_notes.find(event.key);
    const bool has_said = said != outside_.gang_notes.end();
    if (!is_new && known == event.size && event.note == (has_said ? said->second : GangNote{}))
        return;
    known = event.size;
    outside_.gang_notes[event.key] = event.note;
    if (event.note.says_nothing()) outside_.gang_notes.erase(event.key);
    const JobId id = find_job(event.key);
    if (!id.exists()) return;
    resolve(jobs_[id.value()]);
    mark_dirty(id);
}

void ClusterState::on(const GangRemoved& event, EffectList&) {
    if (gang_sizes_.erase(event.key) == 0) return;
    outside_.gang_notes.erase(event.key);
    rejoin(pods_that_name(*this, event.key));
    const JobId id = find_job(event.key);
    if (!id.exists()) return;
    resolve(jobs_[id.value()]);
    mark_dirty(id);
}

}  // namespace gpuctl
