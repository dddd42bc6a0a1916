// Jobs: submitted and deleted by users, or simply there because their pods are.

#include <algorithm>

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {

namespace {

// From asking for a workload to the last moment at which that may be carried out.
constexpr Duration kCreateDeadline = Duration::seconds(30);

}  // namespace

JobId Jobs::job_named(const ObjectKey& key, Instant submitted_at) {
    if (const auto found = job_ids_.find(key); found != job_ids_.end()) return found->second;
    if (finished_jobs_.find(key) != nullptr) return Retention{state_}.bring_back(key);
    return make_job(key, submitted_at);
}

JobId Jobs::make_job(const ObjectKey& key, Instant submitted_at) {
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
    row.tenant = state_.tree.tenant_named(key.namespace_name);
    row.arrival = next_arrival_++;
    row.submitted_at = submitted_at.happened() ? submitted_at : state_.session.event_time();
    row.pool_wanted = kDefaultPool;
    if (const auto left = finished_.find(key); left != finished_.end()) {
        row.gang.finished = std::move(left->second);
        finished_.erase(left);
    }
    job_ids_.emplace(key, id);
    changes_.note(id);
    resolve(row);
    return id;
}

void Jobs::drop_job_if_unused(JobId id) {
    JobRow& row = jobs_[id.value()];
    if (!row.live || !row.pods.empty()) return;
    if (row.run.past && !row.run.past->ended_pods.empty()) return;
    const bool workload_gone = row.workload.state == WorkloadState::deleting && !row.workload.due &&
                               !row.workload.in_flight;
    if (row.record && !workload_gone && !planted(PlantedBug::lose_jobs_without_pods)) return;
    drop_job(id);
}

void Jobs::drop_job(JobId id) {
    JobRow& row = jobs_[id.value()];
    state_.waiting.leave_queue(id);
    if (row.nomination.until.happened()) state_.nominations.drop_claim(id);
    if (row.record)
        state_.evictions.churn().erase(row.key);  // who is submitted under its name is another job
    state_.elastic.elastic_jobs().erase({row.arrival, id});
    state_.gangs.stranded_gangs().erase({row.arrival, id});
    if (state_.run_times.counts_work()) state_.run_times.work_stale().push_back(id);
    if (row.timer_at.happened()) state_.session.timers().erase({row.timer_at, row.arrival, id});
    if (row.is_dirty) std::erase(dirty_, id);
    if (row.run.ended_at.happened()) finished_jobs_.forget(row.run.ended_at, row.arrival, id);
    for (std::uint32_t pool = 0; pool < state_.tree.pool_rows().size(); ++pool) {
        if (state_.tree.pool_rows()[pool].reservations.head.job == id)
            state_.tree.promise(PoolId{pool}, {});
        const std::size_t kept =
            std::erase_if(state_.tree.pool_rows()[pool].reservations.under_limits,
                          [id](const HeadReservation& one) { return one.job == id; });
        if (kept == 0) continue;
        ++state_.tree.pool_rows()[pool].reservations.revision;
        state_.session.idle() = false;
    }
    if (!row.record) Retention{state_}.keep_ranks(row.key, std::move(row.gang.finished));
    state_.signals.forget(row.key);
    changes_.note(id);
    job_ids_.erase(row.key);
    row = JobRow{};
    jobs_vacant_.push_back(id);
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

// Ruling 9. What was written for another scheduler counts where it names a queue that jobs may be
// in; the queue of a namespace is for the pools that have it.
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

// Names to ids, as policy and nodes have it now.
void Jobs::resolve(JobRow& job) {
    if (job.record) {
        const JobSpec& spec = job.record->spec;
        // Services and notebooks are not stopped at a limit.
        const bool is_run = spec.kind == JobKind::training;
        const Duration limit = is_run ? spec.run_time_max : Duration{};
        if (state_.accounts.budgets().change_limit(state_, job, limit))
            state_.accounts.note_room_in_limits(job);
        job.run.time_expected = job.record->spec.run_time_expected;
    }
    const PoolId pool = state_.tree.find_pool(job.pool_wanted);
    QueueId queue = QueueId::none();
    if (pool.exists()) {
        queue = job.priority >= kSystemPriority ? state_.tree.system_queue(pool)
                                                : state_.tree.find_queue(pool, queue_name_of(job));
    }
    state_.accounts.recharge(job, pool, queue, job.priority);
}

void Jobs::resolve_all() {
    for (const auto& [key, id] : job_ids_) resolve(jobs_[id.value()]);
    mark_all_dirty();
}

void Jobs::mark_dirty(JobId id) {
    JobRow& row = jobs_[id.value()];
    changes_.note(id);
    if (state_.run_times.counts_work()) state_.run_times.work_stale().push_back(id);
    maybe_ended_.push_back(id);
    if (row.is_dirty) return;
    row.is_dirty = true;
    dirty_.push_back(id);
}

std::vector<JobId> Jobs::take_dirty() {
    state_.accounts.refresh_shares();
    std::vector<JobId> taken = std::move(dirty_);
    dirty_.clear();
    for (const JobId id : taken) {
        jobs_[id.value()].is_dirty = false;
        state_.waiting.leave_queue(
            id);  // all of them first: what a class remembers must not depend on the order
    }
    std::sort(taken.begin(), taken.end(), [this](JobId a, JobId b) {
        return jobs_[a.value()].arrival < jobs_[b.value()].arrival;
    });
    return taken;
}

// --- workloads ---

// Sends what is due, if we may: one workload effect per job at a time, so that a create in flight
// cannot overtake the delete behind it.
void Workloads::send_workload(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.workload.due || job.workload.in_flight) return;  // its outcome sends what is behind it
    const bool may_write = state_.session.leading() || planted(PlantedBug::write_without_leading);
    if (!may_write || job.workload.not_before > state_.session.event_time()) return send_later(job);
    job.workload.due = false;
    job.workload.in_flight = true;
    job.workload.effect = state_.session.next_effect();
    if (job.workload.state == WorkloadState::deleting) {
        effects.add(DeleteWorkload{job.workload.effect, state_.session.epoch(), job.key,
                                   job.record->spec.kind, job.workload.force_delete});
    } else {
        job.workload.create_deadline = state_.session.event_time() + kCreateDeadline;
        effects.add(CreateWorkload{job.workload.effect, state_.session.epoch(), *job.record,
                                   job.workload.create_deadline});
    }
}

// --- gang sizes ---

void Jobs::mark_all_dirty() {
    for (const auto& [key, id] : job_ids_) mark_dirty(id);
}

}  // namespace gpuctl
