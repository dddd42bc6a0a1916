#pragma once
// Job rows, their names, the list of jobs that changed, and finished jobs.
//
// Owner, thread: ClusterState's.

#include <map>
#include <string>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/changes.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/jobs/finished_jobs.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class Jobs {
public:
    explicit Jobs(ClusterState& state) : state_(state) {}

    std::vector<JobId> take_dirty();  // changed since the last Plan, oldest first; then none are
    [[nodiscard]] bool has_dirty() const { return !dirty_.empty(); }
    StateChanges& changes() { return changes_; }  // for an index that keeps in step
    [[nodiscard]] const std::map<ObjectKey, JobId>& jobs_by_key() const { return job_ids_; }
    [[nodiscard]] const FinishedJobs& finished_jobs() const { return finished_jobs_; }
    [[nodiscard]] JobId find_job(const ObjectKey& key) const;  // not of those that are summarized
    [[nodiscard]] std::string queue_name_of(const JobRow& job) const;
    JobId job_named(const ObjectKey& key, Instant submitted_at);  // also one that was summarized
    JobId make_job(const ObjectKey& key, Instant submitted_at);
    void drop_job_if_unused(JobId id);
    void drop_job(JobId id);
    void resolve(JobRow& job);
    void resolve_all();
    void mark_dirty(JobId id);
    void mark_all_dirty();

    // For the other parts.
    std::vector<JobRow>& rows() { return jobs_; }
    [[nodiscard]] const std::vector<JobRow>& rows() const { return jobs_; }
    std::vector<JobId>& dirty() { return dirty_; }
    [[nodiscard]] const std::vector<JobId>& dirty() const { return dirty_; }
    std::map<ObjectKey, JobId>& job_ids() { return job_ids_; }
    [[nodiscard]] const std::map<ObjectKey, JobId>& job_ids() const { return job_ids_; }
    std::uint64_t& next_arrival() { return next_arrival_; }
    [[nodiscard]] const std::uint64_t& next_arrival() const { return next_arrival_; }
    [[nodiscard]] const StateChanges& changes() const { return changes_; }
    FinishedJobs& finished_jobs() { return finished_jobs_; }
    std::map<ObjectKey, FinishedRanks>& finished() { return finished_; }
    [[nodiscard]] const std::map<ObjectKey, FinishedRanks>& finished() const { return finished_; }
    std::vector<JobId>& maybe_ended() { return maybe_ended_; }
    [[nodiscard]] const std::vector<JobId>& maybe_ended() const { return maybe_ended_; }

private:
    ClusterState& state_;
    std::vector<JobRow> jobs_;
    std::vector<JobId> jobs_vacant_;
    std::vector<JobId> dirty_;
    std::map<ObjectKey, JobId> job_ids_;
    std::uint64_t next_arrival_ = 1;
    StateChanges changes_;
    FinishedJobs finished_jobs_;
    std::map<ObjectKey, FinishedRanks> finished_;  // of jobs without pods, for an hour
    std::vector<JobId> maybe_ended_;               // in this input
};

}  // namespace gpuctl
