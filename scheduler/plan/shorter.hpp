#pragma once
// Stopping long work for short (docs/adr/0018): a job of a queue that orders its jobs by run time,
// in a pool whose mode says so, has others stopped of which clearly more is left, in its own queue
// and among what other queues of the pool hold beyond their guarantees. Who is stopped has more
// left than its stopper at that moment, and while it waits that does not change, while of the
// stopper less is left with time: so it cannot stop it in turn, and there is no circle. Where the
// pool goes by when work is due, those that are due later are stopped for those that are due
// sooner. A job that has to begin now, or it would run on alone when all else is done, is the first
// of all of them, and stopped for none.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/plan/victims.hpp"
#include "scheduler/policy/work_left.hpp"

namespace gpuctl {

// What could be stopped in a pool for shorter work, most left first: read once while nothing
// changes in a Plan, however many jobs ask.
class StoppableWork {
public:
    struct Unit {
        EvictionUnit unit;
        std::int64_t size = 0;       // of what is left, less what stopping it would cost
        Duration left;               // the same, time alone
        bool may_grow = false;       // nobody knows when it ends
        Instant cheaper_at;          // at its next checkpoint, and its size then; never: it saves
        std::int64_t size_then = 0;  // nothing, or has just done so
    };
    void forget() { is_known_ = false; }
    void read(const ClusterState& state, PoolId pool, WorkLeft& left);

    [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
    [[nodiscard]] const Candidates& all() const { return found_; }  // without its units
    // The first of those that have to go on might no longer have to, if not all GPUs are busy.
    [[nodiscard]] std::optional<Duration> turns_in() const { return turns_in_; }

private:
    bool is_known_ = false;
    PoolId pool_;
    std::uint64_t changes_ = 0;
    std::uint64_t leaving_ = 0;
    Candidates found_;
    std::vector<Unit> units_;
    std::optional<Duration> turns_in_;
};

// One job that finds no room. Lives for one attempt.
class Shorter {
public:
    Shorter(const ClusterState& state, const JobRow& job, WorkLeft& left);

    // Cheap, and asked whenever a job finds no room: could there be anybody?
    static bool may_try(const ClusterState& state, const JobRow& job, PodId pod);
    // Those of which enough is left, and when more could be allowed.
    void choose(const StoppableWork& work, Candidates& out) const;
    // Told to one that is stopped.
    [[nodiscard]] std::string why(const JobRow& other);

private:
    [[nodiscard]] bool may_stop(const JobRow& other) const;

    const ClusterState& state_;
    const JobRow& job_;
    WorkLeft& left_;
    Duration own_time_;        // that it needs
    std::int64_t own_ = 0;     // its size
    std::int64_t enough_ = 0;  // the least size of one that may be stopped
    Instant first_from_;       // from then on it goes before the others; never: not by itself
    bool is_late_ = false;     // it has to begin now
    bool is_due_ = false;      // sizes are moments
};

}  // namespace gpuctl
