#pragma once
// How long jobs run: history, predicted ends, remaining work, lateness.
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

// A job later than expected is assumed to take as long again as it is late.
inline Duration as_long_again(Duration left) { return std::max(left, Duration{} - left); }

class RunTimes {
public:
    explicit RunTimes(ClusterState& state) : state_(state) {}

    // Pods that hold and have a limit, by the time at which they end at the latest.
    using Ends = std::pmr::set<std::pair<Instant, PodId>>;
    void note_long(JobId job, bool is_long);
    [[nodiscard]] const RunTimeHistory& history() const { return history_; }
    [[nodiscard]] RunTimeQuestion question_about(const JobRow& job) const;
    [[nodiscard]] const Ends& ends() const { return ends_; }
    // Of what the job had to do: by runs that were stopped, as far as it was kept, and by this one.
    [[nodiscard]] Duration progress_of(const JobRow& job) const;
    // Of the run time that its user states; negative: it is overdue.
    [[nodiscard]] Duration stated_left(const JobRow& job) const {
        return job.run.time_expected - progress_of(job);
    }
    // Where long jobs are to begin in time: one that needs so long goes first; absent: none does.
    [[nodiscard]] std::optional<Duration> late_from(PoolId pool) const;
    void count_work();  // what changed of the work that is left; at the end of each input
    [[nodiscard]] bool stops_long_for_short(const QueueRow& queue) const;
    // What it may preempt, and be preempted for, besides priorities: the mode of its pool, if its
    // queue has the order SHORTEST.
    [[nodiscard]] PreemptionMode preemption_of(const JobRow& job) const;
    [[nodiscard]] bool heeds_run_times(const QueueRow& queue) const;
    Result<bool> restore_run_times(const StateImage& image, Key<StateReader>);
    void note_end(PodId id);
    void note_run(PodId id);
    void recount_work();
    [[nodiscard]] RunSoFar run_so_far(const JobRow& job) const;
    // How long the job may run, and how long its user expects it to; 0: no limit, unknown.
    void set_times(JobId id, Duration limit, Duration expected);
    void note_stale_work(JobId id) {
        if (counts_work_) work_stale_.push_back(id);
    }
    void note_open_pods(JobId id, std::int64_t more);  // pods of it that have not ended
    void note_last_phase(JobId id, PodPhase phase);
    // A pod of the job was stopped, or has failed; is gone (present_run.cpp).
    void note_stopped(JobId id, PodId stopped);
    void note_gone(JobId id, const PodFacts& pod);
    void note_wait(JobId id);  // what the job's wait means for it now
    // What unfinished jobs of this owner have done is another.
    void touch_history(TenantId owner) { history_.touch(owner); }
    void restore_run(JobId id, const FinishedJob& past, Key<Retention>);  // of a summarized job

private:
    [[nodiscard]] Instant began(const JobRow& job) const;  // its run; never: it does not
    [[nodiscard]] Duration done_before(const JobRow& job, Instant begin) const;  // of its run
    PoolId note_work(JobId job);
    void note_pace(JobId id);  // pace.cpp
    [[nodiscard]] Duration work_done(const JobRow& job) const;

    ClusterState& state_;
    // Timers come and go with every gang: their memory is kept and used again.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> timer_memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    Ends ends_{timer_memory_.get()};
    RunTimeHistory history_;
    PoolWork work_;
    std::vector<JobId> work_stale_;  // may have more or less remaining work now
    bool counts_work_ = false;       // a pool asks for it
};

}  // namespace gpuctl
