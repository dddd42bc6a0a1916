#pragma once
// Changes of nodes by time: the maintenance windows that have begun, the next beginning or end, and
// whether pods are still to be evicted. Changed by maintenance.cpp.

#include <boost/describe.hpp>
#include <cstdint>
#include <set>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/policy/maintenance.hpp"

namespace gpuctl {

class ClusterState;
struct JobRow;

// Whether pods are to be evicted for windows and unhealthy nodes.
//
//   idle ──a window begins, a node changes──> due ──the next Plan evicts──> idle, or postponed
//                                              ^                                        │
//                                              └──────────── backoff over ──────────────┘
//
// Evictions that a disruption budget or an error stopped, or that were refused, are postponed.
enum class DrainPhase : std::uint8_t { idle, due, postponed };

// The part of the calendar that cannot be rebuilt from the policy and the pods.
struct CalendarClock {
    Instant turns_at;                 // the next beginning, end, or time to evict a pod; or never
    bool drain_due = false;           // the next Plan looks for pods to evict
    Instant drain_again_at;           // when postponed evictions are sent again; or never
    std::int32_t drain_failures = 0;  // consecutive

    // Only these and the part Maintenance interpret the fields.
    [[nodiscard]] DrainPhase phase() const {
        if (drain_due) return DrainPhase::due;
        return drain_again_at.happened() ? DrainPhase::postponed : DrainPhase::idle;
    }
    // Evictions that were refused or postponed are requested again later, also while other
    // evictions are due.
    [[nodiscard]] bool has_postponed() const { return drain_again_at.happened(); }
    [[nodiscard]] bool turns(Instant now) const { return turns_at.happened() && turns_at <= now; }
};
BOOST_DESCRIBE_STRUCT(CalendarClock, (), (turns_at, drain_due, drain_again_at, drain_failures))

struct Calendar {
    CalendarClock clock;
    std::vector<Instant> begins;  // of each window, current or next; or never
    WindowSet active = 0;         // begun and not over
    WindowSet closed = 0;         // those of them that are closed to all jobs
    WindowSet draining = 0;       // windows for which a pod was, is or will be evicted
    // Nodes that are in a window, reported to be unhealthy, or drained by a user, by slot.
    std::set<std::uint32_t> nodes;
};

// The reservations for the job: for its namespace, its queue or a queue above (maintenance.cpp).
WindowSet reserved_for(const ClusterState& state, const JobRow& job);

// What a job that starts needs to know of the next windows.
struct Stay {
    Duration time;              // its longest run time; 0: unknown
    Duration grace;             // its longest grace period
    Drain least = Drain::none;  // the least Drain of a window that evicts it; none: no window does
    WindowSet own = 0;          // the reservations for it
};

}  // namespace gpuctl
