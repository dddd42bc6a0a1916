#pragma once
// Preemption of long work for short work (docs/adr/0018). A job of a queue that orders its jobs by
// run time, in a pool with that mode, may preempt work with clearly more remaining work: in its own
// queue, and among what other queues of the pool hold beyond their guarantees. While the victim
// waits its remaining work is constant, and the remaining work of the preemptor shrinks, so the
// victim cannot preempt the preemptor: there is no cycle. If the pool orders by due times, work
// with a later due time is preempted for work with an earlier one. A job that must begin now,
// because it would run alone after all other work otherwise, precedes all other jobs and is never
// preempted.

#include <optional>
#include <vector>

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/policy/remaining_work.hpp"

namespace gpuctl {

// The work of a pool that could be preempted for shorter work, most remaining work first. It is
// read once and reused while nothing changes in a Plan.
class StoppableWork {
public:
    struct Unit {
        EvictionUnit unit;
        std::int64_t size = 0;  // remaining, less the cost of a preemption
        Duration left;          // the same, time alone
        bool may_grow = false;  // its end is unknown
        Instant cheaper_at;     // its next checkpoint; never: it has none, or has just taken one
        std::int64_t size_then = 0;  // its size at the checkpoint
    };
    void forget() { is_known_ = false; }
    void read(const ClusterState& state, PoolId pool, RemainingWork& left);

    [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
    // candidates without their units
    [[nodiscard]] const Candidates& all() const { return found_; }
    // The time until the first protected job might lose its protection, if not all GPUs are busy.
    [[nodiscard]] std::optional<Duration> turns_in() const { return turns_in_; }

private:
    bool is_known_ = false;
    PoolId pool_;
    std::uint64_t changes_ = 0;
    std::uint64_t terminations_ = 0;
    Candidates found_;
    std::vector<Unit> units_;
    std::optional<Duration> turns_in_;
};

// One job that finds no room. It exists for one attempt.
class ShorterJob {
public:
    ShorterJob(const ClusterState& state, const JobRow& job, RemainingWork& left);

    // A cheap check whenever a job finds no room: could there be a victim?
    static bool may_try(const ClusterState& state, const JobRow& job, PodId pod);
    // Adds the units with enough remaining work, and the time when more units could be allowed.
    void choose(const StoppableWork& work, Candidates& out) const;
    // True if the running unit would be preempted for it if the user, the guarantee and the
    // makespan did not protect the unit: to explain why it is not.
    [[nodiscard]] bool precedes(const EvictionUnit& unit) const;
    // True if the job goes on whatever waits: preempted, it would run alone after all other work.
    [[nodiscard]] static bool ends_last(const ClusterState& state, const JobRow& other) {
        return RemainingWork::goes_on_for(state, other) > Duration{};
    }
    // Why the job `other` is preempted for it.
    [[nodiscard]] Cause why(const JobRow& other);

private:
    [[nodiscard]] bool may_stop(const JobRow& other) const;
    // The size from which such a unit may be preempted.
    [[nodiscard]] std::int64_t enough_for(bool may_grow) const;

    const ClusterState& state_;
    const JobRow& job_;
    RemainingWork& left_;
    Duration own_time_;        // run time of the job
    std::int64_t own_ = 0;     // size of the job
    std::int64_t enough_ = 0;  // the smallest size of a job that may be preempted
    Instant first_from_;       // from then on the job precedes other jobs; never: not by waiting
    bool is_late_ = false;     // the job has to begin now
    bool is_due_ = false;      // sizes are due times
};

}  // namespace gpuctl
