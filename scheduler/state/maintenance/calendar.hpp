#pragma once
// What the clock does to nodes: which maintenance windows have begun, when the next one begins or
// ends, and whether pods are still to be evicted for them. Changed by maintenance.cpp.

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

// What of it cannot be rebuilt from the policy and the pods.
struct CalendarClock {
    Instant turns_at;        // the next beginning, end, or time to evict a pod; or never
    bool drain_due = false;  // the next Plan looks for pods to evict
    Instant drain_again_at;  // those that could not be stopped when they were asked; or never
    std::int32_t drain_failures = 0;  // in a row

    // Only these and the part Maintenance interpret the fields.
    [[nodiscard]] DrainPhase phase() const {
        if (drain_due) return DrainPhase::due;
        return drain_again_at.happened() ? DrainPhase::postponed : DrainPhase::idle;
    }
    // Evictions that were refused or had to wait are asked for again later, also while others are
    // due.
    [[nodiscard]] bool has_postponed() const { return drain_again_at.happened(); }
    [[nodiscard]] bool turns(Instant now) const { return turns_at.happened() && turns_at <= now; }
};
BOOST_DESCRIBE_STRUCT(CalendarClock, (), (turns_at, drain_due, drain_again_at, drain_failures))

struct Calendar {
    CalendarClock clock;
    std::vector<Instant> begins;  // of each window, under way or next; or never
    WindowSet active = 0;         // begun, and not over
    WindowSet closed = 0;         // of those, the ones that take no job's work
    WindowSet draining = 0;       // for which a pod was, is or will be evicted
    // Nodes that are in a window, or reported to be unhealthy, by slot.
    std::set<std::uint32_t> nodes;
};

// Reservations that are for it: by its namespace, its queue or one above that (maintenance.cpp).
WindowSet reserved_for(const ClusterState& state, const JobRow& job);

// What a job that starts needs of the time before a window.
struct Stay {
    Duration time;              // that it takes, at most; 0: unknown
    Duration grace;             // that its pods are given to stop
    Drain least = Drain::none;  // what a window must say to have it stopped; none: nothing does
    WindowSet own = 0;          // reservations that are for it
};

}  // namespace gpuctl
