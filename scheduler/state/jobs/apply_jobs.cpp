// Jobs: submitted and deleted by users, or known only by their pods.

#include <algorithm>
#include <utility>

#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {

namespace {

// From the request of a workload to the last time at which it may be carried out.
constexpr Duration kCreateDeadline = Duration::seconds(30);

}  // namespace

JobId Jobs::job_named(const ObjectKey& key, Instant submitted_at) {
    if (const auto found = job_ids_.find(key); found != job_ids_.end()) return found->second;
    if (finished_jobs_.find(key) != nullptr) return Retention{state_}.bring_back(key);
    return make_job(key, submitted_at);
}

JobId Jobs::make_job(const ObjectKey& key, Instant submitted_at) {
    const JobId id = jobs_.add({});
    JobBase& row = jobs_.base(id, {});
    row.live = true;
    row.key = key;
    row.tenant = state_.tree.tenant_named(key.namespace_name);
    row.arrival = next_arrival_++;
    row.submitted_at = submitted_at.happened() ? submitted_at : state_.session.event_time();
    row.pool_wanted = kDefaultPool;
    if (const auto left = finished_.find(key); left != finished_.end()) {
        state_.gangs.set_finished(id, std::move(left->second));
        finished_.erase(left);
    }
    job_ids_.emplace(key, id);
    changes_.add(id);
    resolve(id);
    return id;
}

void Jobs::drop_job_if_unused(JobId id) {
    const JobRow& row = jobs_[id.value()];
    if (!row.live || !row.pods.empty()) return;
    if (row.retention.past && !row.retention.past->ended_pods.empty()) return;
    const bool workload_gone = row.workload.state == WorkloadState::deleting && !row.workload.due &&
                               !row.workload.in_flight;
    if (row.record && !workload_gone && !has_fault(SeededFault::lose_jobs_without_pods)) return;
    drop_job(id);
}

void Jobs::drop_job(JobId id) {
    const JobRow& row = jobs_[id.value()];
    state_.waiting.leave_queue(id);
    state_.seats.forget(id);
    if (row.nomination.exists()) state_.nominations.drop_nomination(id);
    // A job that is submitted later under this name is another job.
    if (row.record) state_.evictions.forget_job(row.key);
    state_.elastic.forget_job(id);
    state_.gangs.forget_job(id);
    state_.run_times.note_stale_work(id);
    state_.session.drop_timer(id);
    if (row.is_dirty) std::erase(dirty_, id);
    if (row.retention.phase() == RetentionPhase::in_full)
        finished_jobs_.forget(row.retention.ended_at, row.arrival, id);
    state_.tree.forget_reservations(id);
    if (!row.record) Retention{state_}.keep_ranks(row.key, state_.gangs.take_finished(id));
    state_.signals.forget(row.key);
    changes_.add(id);
    job_ids_.erase(row.key);
    jobs_.remove(id, {});
}

JobId Jobs::find_job(const ObjectKey& key) const {
    const auto found = job_ids_.find(key);
    return found == job_ids_.end() ? JobId::none() : found->second;
}

std::string queue_suggested_for(const ClusterState& state, const JobRow& job) {
    const auto& notes = state.nodes.outside().gang_notes;
    const auto found = notes.find(job.key);
    if (found != notes.end() && !found->second.queue.empty()) return found->second.queue;
    return job.pods.empty() ? "" : state.pod(job.pods.front()).facts.queue_suggested;
}

std::optional<fact::QueueIgnored> ignored_queue(const ClusterState& state, const JobRow& job) {
    if (!job.queue_wanted.empty() || !job.pool.exists()) return std::nullopt;
    const std::string suggested = queue_suggested_for(state, job);
    if (suggested.empty() || state.jobs.queue_name_of(job) == suggested) return std::nullopt;
    return fact::QueueIgnored{suggested, state.pool(job.pool).name,
                              state.tree.find_queue(job.pool, suggested).exists()};
}

// The queue that the job names; else the queue that it names for another scheduler (Kueue, Volcano
// and others), if its pool has such a queue and it takes jobs; else the queue of its namespace, if
// its pool has it; else the default queue.
std::string Jobs::queue_name_of(const JobRow& job) const {
    if (!job.queue_wanted.empty()) return job.queue_wanted;
    if (std::string suggested = queue_suggested_for(state_, job); !suggested.empty()) {
        const PoolId pool = state_.tree.find_pool(job.pool_wanted);
        const QueueId queue =
            pool.exists() ? state_.tree.find_queue(pool, suggested) : QueueId::none();
        if (queue.exists() && state_.tree.queue_rows()[queue.value()].children.empty())
            return suggested;
    }
    const std::string& by_tenant = state_.tree.tenant_rows()[job.tenant.value()].queue;
    const PoolId pool = state_.tree.find_pool(job.pool_wanted);
    const bool is_there = !pool.exists() || state_.tree.find_queue(pool, by_tenant).exists();
    return by_tenant.empty() || !is_there ? kDefaultQueue : by_tenant;
}

void Jobs::set_record(JobId id, const JobRecord& record, Instant submitted_at) {
    JobBase& job = jobs_.base(id, {});
    job.record = record;
    if (submitted_at.happened()) job.submitted_at = submitted_at;
}

void Jobs::set_route(JobId id, std::string_view pool, std::string_view queue) {
    JobBase& job = jobs_.base(id, {});
    job.pool_wanted = pool.empty() ? std::string_view{kDefaultPool} : pool;
    job.queue_wanted = queue;
}

void Jobs::resolve(JobId id) {
    const JobRow& job = jobs_[id.value()];
    if (job.record) {
        const JobSpec& spec = job.record->spec;
        // Only training jobs end at a run-time limit, services and notebooks do not.
        const bool is_run = spec.kind == JobKind::training;
        const Duration limit = is_run ? spec.run_time_max : Duration{};
        state_.run_times.set_times(id, limit, spec.run_time_expected);
    }
    const PoolId pool = state_.tree.find_pool(job.pool_wanted);
    QueueId queue = QueueId::none();
    if (pool.exists()) {
        queue = job.priority >= kSystemPriority ? state_.tree.system_queue(pool)
                                                : state_.tree.find_queue(pool, queue_name_of(job));
    }
    move_to(id, pool, queue, job.priority);
}

void Jobs::move_to(JobId id, PoolId pool, QueueId queue, std::int32_t priority) {
    JobBase& job = jobs_.base(id, {});
    if (job.pool == pool && job.queue == queue && job.priority == priority) return;
    const JobRow& row = jobs_[id.value()];
    if (row.holding.pods > 0) state_.tree.note_gain(job.pool);  // its old queue holds less
    if (!has_fault(SeededFault::double_charge_on_move)) state_.accounts.charge_pods_of(row, -1);
    job.pool = pool;
    job.queue = queue;
    job.priority = priority;
    state_.accounts.charge_pods_of(row, 1);
}

void Jobs::resolve_all() {
    for (const auto& [key, id] : job_ids_) resolve(id);
    mark_all_dirty();
}

void Jobs::mark_dirty(JobId id) {
    changes_.add(id);
    state_.run_times.note_stale_work(id);
    maybe_ended_.push_back(id);
    if (std::exchange(jobs_.is_dirty(id, {}), true)) return;
    dirty_.push_back(id);
}

std::vector<JobId> Jobs::take_dirty() {
    state_.accounts.refresh_shares();
    std::vector<JobId> taken = std::move(dirty_);
    dirty_.clear();
    for (const JobId id : taken) {
        jobs_.is_dirty(id, {}) = false;
        state_.waiting.leave_queue(
            id);  // all of them first: what a class remembers must not depend on the order
    }
    std::sort(taken.begin(), taken.end(), [this](JobId a, JobId b) {
        return jobs_[a.value()].arrival < jobs_[b.value()].arrival;
    });
    return taken;
}

void Jobs::restore_clean(Key<StateReader>) {
    for (const JobId id : dirty_) jobs_.is_dirty(id, {}) = false;
    dirty_.clear();
}

void Jobs::restore_removed(FinishedJobs::Removed removed, std::pair<Instant, ObjectKey> until,
                           Key<StateReader>) {
    finished_jobs_.restore_removed(std::move(removed), std::move(until));
    maybe_ended_.clear();
}

void Jobs::restore_ended(JobId id, Boxed<FinishedJob> past, Instant ended_at, Key<StateReader>) {
    jobs_.retention(id, {}) = {ended_at, std::move(past)};
}

// --- workloads ---

// Sends the effect that is due, if writing is allowed. There is one workload effect per job at a
// time, so that a create in flight cannot overtake the delete after it.
void Workloads::send_workload(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    if (!workload.due || workload.in_flight) return;  // its outcome sends the next one
    const bool may_write =
        state_.session.leading() || has_fault(SeededFault::write_without_leading);
    if (!may_write || workload.not_before > state_.session.event_time()) return send_later(job);
    workload.due = false;
    workload.in_flight = true;
    workload.effect = state_.session.next_effect();
    if (workload.state == WorkloadState::deleting) {
        effects.add(DeleteWorkload{workload.effect, state_.session.epoch(), job.key,
                                   job.record->spec.kind, workload.force_delete});
        return;
    }
    workload.create_deadline = state_.session.event_time() + kCreateDeadline;
    if (workload.state == WorkloadState::created) {
        const JobRecord& there = job.change.before ? *job.change.before : *job.record;
        effects.add(UpdateWorkload{workload.effect, state_.session.epoch(), there.uid,
                                   there.spec.kind, *job.record, Seats::is_paused(job),
                                   job.change.part, workload.create_deadline});
    } else {
        effects.add(CreateWorkload{workload.effect, state_.session.epoch(), *job.record,
                                   workload.create_deadline});
    }
}

// --- gang sizes ---

void Jobs::mark_all_dirty() {
    for (const auto& [key, id] : job_ids_) mark_dirty(id);
}

}  // namespace gpuctl
