#pragma once
// Run times of jobs: history, predicted ends, remaining work, lateness.
//
// Owner, thread: ClusterState's.

#include <algorithm>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/run_times/pool_work.hpp"
#include "scheduler/state/run_times/run_time_history.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;
class Retention;

// A job that runs longer than expected is assumed to need as much time again as it is late.
inline Duration as_long_again(Duration left) { return std::max(left, Duration{} - left); }

class RunTimes {
public:
    explicit RunTimes(ClusterState& state) : state_(state) {}

    // Pods that hold resources and have a limit, by their latest end.
    using Ends = std::pmr::set<std::pair<Instant, PodId>>;
    void note_long(JobId job, bool is_long);
    [[nodiscard]] const RunTimeHistory& history() const { return history_; }
    [[nodiscard]] RunTimeQuestion question_about(const JobRow& job) const;
    [[nodiscard]] const Ends& ends() const { return ends_; }
    // The completed work of the job: what its earlier runs saved, and its present run.
    [[nodiscard]] Duration progress_of(const JobRow& job) const;
    // The rest of the run time that its user states; negative: it is overdue.
    [[nodiscard]] Duration stated_left(const JobRow& job) const {
        return job.run.time_expected - progress_of(job);
    }
    // In pools where long jobs begin in time: a job that needs at least this long goes first;
    // absent: there is no such rule.
    [[nodiscard]] std::optional<Duration> late_from(PoolId pool) const;
    void count_work();  // updates the remaining work, at the end of each input
    [[nodiscard]] bool stops_long_for_short(const QueueRow& queue) const;
    // For which run-time rule the job may preempt and be preempted, besides priority: the mode of
    // its pool, if its queue has the order SHORTEST.
    [[nodiscard]] PreemptionMode preemption_of(const JobRow& job) const;
    [[nodiscard]] bool heeds_run_times(const QueueRow& queue) const;
    Result<bool> restore_run_times(const StateImage& image, Key<StateReader>);
    void note_end(PodId id);
    void note_run(PodId id);
    void recount_work();
    [[nodiscard]] RunSoFar run_so_far(const JobRow& job) const;
    // The run-time limit of the job, and the run time that its user states; 0: no limit, unknown.
    void set_times(JobId id, Duration limit, Duration expected);
    void note_stale_work(JobId id) {
        if (counts_work_) work_stale_.push_back(id);
    }
    void note_open_pods(JobId id, std::int64_t more);  // pods of the job that have not ended
    void note_last_phase(JobId id, PodPhase phase);
    // A pod of the job was stopped or has failed; a pod is gone (present_run.cpp).
    void note_stopped(JobId id, PodId stopped);
    void note_gone(JobId id, const PodFacts& pod);
    void note_wait(JobId id);  // what follows now from the wait of the job
    // The progress of this owner's unfinished jobs has changed.
    void touch_history(TenantId owner) { history_.touch(owner); }
    void restore_run(JobId id, const FinishedJob& past, Key<Retention>);  // of a summarized job

private:
    [[nodiscard]] Instant began(const JobRow& job) const;  // its run; never: it does not run
    [[nodiscard]] Duration done_before(const JobRow& job, Instant begin) const;  // the present run
    PoolId note_work(JobId job);
    void note_pace(JobId id);  // pace.cpp
    [[nodiscard]] Duration work_done(const JobRow& job) const;

    ClusterState& state_;
    // Timers change with every gang: their memory is reused.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> timer_memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    Ends ends_{timer_memory_.get()};
    RunTimeHistory history_;
    PoolWork work_;
    std::vector<JobId> work_stale_;  // jobs whose remaining work may have changed
    bool counts_work_ = false;       // a pool uses it
};

}  // namespace gpuctl
