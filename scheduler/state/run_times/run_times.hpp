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

namespace gpuctl {

class ClusterState;

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
    Result<bool> restore_run_times(const StateImage& image);
    void note_end(PodId id);
    void note_run(PodId id);
    void recount_work();
    [[nodiscard]] RunSoFar run_so_far(const JobRow& job) const;

    // For the other parts.
    Ends& ends() { return ends_; }
    RunTimeHistory& history() { return history_; }
    std::vector<JobId>& work_stale() { return work_stale_; }
    [[nodiscard]] const std::vector<JobId>& work_stale() const { return work_stale_; }
    bool& counts_work() { return counts_work_; }
    [[nodiscard]] const bool& counts_work() const { return counts_work_; }

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
