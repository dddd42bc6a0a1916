#pragma once
// The latest reading of each signal of each known job, for scale/. A reading changes no decision by
// itself: a job with a new reading is not tried again.
//
// Bounded: at most kSignalKinds readings for each job that the state knows.
//
// Owner, thread: ClusterState's.

#include <map>
#include <optional>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class Signals {
public:
    using ByKind = std::map<SignalKind, SignalReading>;

    explicit Signals(ClusterState& state) : state_(state) {}

    // Ignores signals of unknown jobs, readings without a time, and readings older than the known
    // one. A source whose clock is ahead does not hide its later readings.
    void on(const MetricsObserved& event);
    void forget(const ObjectKey& job) { latest_.erase(job); }  // the job is removed

    // Absent: never observed.
    [[nodiscard]] std::optional<SignalReading> latest(const ObjectKey& job, SignalKind kind) const;
    [[nodiscard]] const std::map<ObjectKey, ByKind>& all() const { return latest_; }

    [[nodiscard]] std::vector<JobSignal> image() const;
    // False: a signal of an unknown job, of an unknown kind, without a time, or given twice.
    [[nodiscard]] bool restore(const std::vector<JobSignal>& signals, Key<StateReader>);

private:
    ClusterState& state_;
    std::map<ObjectKey, ByKind> latest_;
};

}  // namespace gpuctl
