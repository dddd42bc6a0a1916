#pragma once
// Job rows, their names, the list of jobs that changed, and finished jobs.
//
// Owner, thread: ClusterState's.

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/changes.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/jobs/finished_jobs.hpp"
#include "scheduler/state/jobs/job_table.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;
class Listing;

class Jobs {
public:
    explicit Jobs(ClusterState& state) : state_(state) {}

    // changed since the last Plan, oldest first; afterwards none is
    std::vector<JobId> take_dirty();
    [[nodiscard]] bool has_dirty() const { return !dirty_.empty(); }
    StateChanges& changes(Key<Listing>) { return changes_; }  // for an index that follows the state
    [[nodiscard]] const StateChanges& changes() const { return changes_; }
    [[nodiscard]] const std::map<ObjectKey, JobId>& jobs_by_key() const { return job_ids_; }
    [[nodiscard]] const FinishedJobs& finished_jobs() const { return finished_jobs_; }
    [[nodiscard]] JobId find_job(const ObjectKey& key) const;  // without summarized jobs
    [[nodiscard]] std::string queue_name_of(const JobRow& job) const;
    // also a summarized job, which returns
    JobId job_named(const ObjectKey& key, Instant submitted_at);
    JobId make_job(const ObjectKey& key, Instant submitted_at);
    void drop_job_if_unused(JobId id);
    void drop_job(JobId id);
    // The record of a submitted job, and when it was submitted; never: unchanged.
    void set_record(JobId id, const JobRecord& record, Instant submitted_at);
    void drop_record(JobId id) { jobs_.base(id, {}).record.reset(); }
    // The pool and queue that the job names; an empty pool is the default pool.
    void set_route(JobId id, std::string_view pool, std::string_view queue);
    // Resolves names to ids by the current policy and nodes.
    void resolve(JobId id);
    void resolve_all();
    // Moves all that the job holds to another queue, or into or out of the system class.
    void move_to(JobId id, PoolId pool, QueueId queue, std::int32_t priority);
    void mark_dirty(JobId id);
    void mark_all_dirty();
    void note_change(JobId id) { changes_.add(id); }
    void note_change(NodeId id) { changes_.add(id); }
    void note_maybe_ended(JobId id) { maybe_ended_.push_back(id); }  // in this input

    JobTable& rows() { return jobs_; }
    [[nodiscard]] const JobTable& rows() const { return jobs_; }
    [[nodiscard]] const std::map<ObjectKey, JobId>& job_ids() const { return job_ids_; }
    [[nodiscard]] std::uint64_t next_arrival() const { return next_arrival_; }
    [[nodiscard]] const std::map<ObjectKey, FinishedRanks>& finished() const { return finished_; }

    // --- from an image ---
    void restore_finished_ranks(std::map<ObjectKey, FinishedRanks> ranks, Key<StateReader>) {
        finished_ = std::move(ranks);
    }
    void restore_clean(Key<StateReader>);  // no job is changed
    void restore_summary(FinishedJob job, Key<StateReader>) { finished_jobs_.add(std::move(job)); }
    void restore_removed(FinishedJobs::Removed removed, std::pair<Instant, ObjectKey> until,
                         Key<StateReader>);
    void restore_ended(JobId id, Boxed<FinishedJob> past, Instant ended_at, Key<StateReader>);
    void restore_next_arrival(std::uint64_t next, Key<StateReader>) { next_arrival_ = next; }

private:
    friend class Retention;  // the part of Jobs that decides how long finished jobs are kept
    static constexpr Key<Jobs> key() { return {}; }

    ClusterState& state_;
    JobTable jobs_;
    std::vector<JobId> dirty_;
    std::map<ObjectKey, JobId> job_ids_;
    std::uint64_t next_arrival_ = 1;
    StateChanges changes_;
    FinishedJobs finished_jobs_;
    std::map<ObjectKey, FinishedRanks> finished_;  // of jobs without pods, for an hour
    std::vector<JobId> maybe_ended_;               // in this input
};

}  // namespace gpuctl
