#pragma once
// Waiting jobs: when a job can be tried, its class in its queue, and why it was refused.
//
// Owner, thread: ClusterState's.

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class WaitingJobs {
public:
    explicit WaitingJobs(ClusterState& state) : state_(state) {}

    // Settles the job's last round, then puts it into its queue if it can be tried.
    void refresh(JobId job, Readiness& ready, EffectList& effects);
    void block(ClassId id, ClassBlock block);
    void report_pending(JobId job, Explanation explanation, EffectList& effects);
    [[nodiscard]] const QueueBook& book() const { return book_; }
    void read_readiness(JobId id, Readiness& out) const;
    // True if the class was refused, and nothing has changed that could change the answer.
    [[nodiscard]] bool is_blocked(const JobClass& waiting) const;
    // Rounds up to the next step by which classes of jobs differ in run time: eight steps for each
    // doubling.
    [[nodiscard]] static Duration rounded_up(Duration time);
    void leave_queue(JobId id);
    void enter_queue(JobId id, const Readiness& ready);
    void report_started(JobId id, EffectList& effects);
    void expect_start(PodId id);  // it is placed: its start is to be reported
    void forget_start(PodId id);  // it is no longer placed
    // From an image: the reason for which the class was refused; it may have changed since.
    void restore_refusal(ClassId id, Reason reason, Key<StateReader>);

private:
    Ask ask_of(const JobRow& job, const Readiness& ready) const;
    [[nodiscard]] std::uint64_t revision(const ClassKey& key, std::uint16_t watch) const;

    ClusterState& state_;
    QueueBook book_;  // job classes by queue
};

}  // namespace gpuctl
