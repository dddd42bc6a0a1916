#pragma once
// Maintenance windows and calendar reservations: which nodes are closed, which pods are drained.
//
// Owner, thread: ClusterState's.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/maintenance/calendar.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class Maintenance {
public:
    explicit Maintenance(ClusterState& state) : state_(state) {}

    void note_drained() { calendar_.clock.drain_due = false; }
    [[nodiscard]] const Calendar& calendar() const { return calendar_; }
    [[nodiscard]] bool has_windows() const;
    [[nodiscard]] Stay stay_of(const JobRow& job, const std::vector<PodId>& pods) const;
    // The windows that pods would be in, or run into without being allowed to, if they start after
    // `from`.
    [[nodiscard]] WindowSet barred(const Stay& stay, Instant from, Duration delay = {}) const;
    [[nodiscard]] bool is_barred(const JobRow& job, const std::vector<Placement>& round) const;
    [[nodiscard]] bool is_closed(NodeId node) const;  // for all jobs
    void take_windows();
    void place_in_windows(NodeId id);
    void turn_calendar();
    void note_stop(NodeId node, const PodRow& pod);
    void note_drain_outcome(const PodRow& pod, EvictResult result);
    void request_drain() { calendar_.clock.drain_due = true; }  // by the next Plan
    void restore_clock(const CalendarClock& clock, Key<StateReader>) { calendar_.clock = clock; }

private:
    void forget_postponed_drains();

    ClusterState& state_;
    Calendar calendar_;
};

}  // namespace gpuctl
