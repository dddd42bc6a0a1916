#pragma once
// The rows of pods, and which part may write which struct of a row (table.hpp).

#include "scheduler/base/ids.hpp"
#include "scheduler/state/pods/pod_row.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class Bindings;
class ElasticJobs;
class Evictions;
class Pods;
class RunTimes;
class StateReader;
class WaitingJobs;

class PodTable final : public Table<PodRow, PodTable> {
public:
    PodBase& base(PodId id, Key<Pods>) { return row(id); }
    BindRow& bind(PodId id, Key<Bindings>) { return row(id).bind; }
    EvictionRow& eviction(PodId id, Key<Evictions>) { return row(id).eviction; }
    std::uint32_t& stoppable_at(PodId id, Key<Evictions>) { return row(id).stoppable_at; }
    PodReport& report(PodId id, Key<WaitingJobs>) { return row(id).report; }
    Instant& ends_at(PodId id, Key<RunTimes>) { return row(id).ends_at; }
    bool& is_surplus(PodId id, Key<ElasticJobs>) { return row(id).is_surplus; }

    // A vacant row or a new one, empty.
    PodId add(Key<Pods>) {
        if (vacant_.empty()) {
            rows_.emplace_back();
            return PodId{static_cast<std::uint32_t>(rows_.size() - 1)};
        }
        const PodId id = vacant_.back();
        vacant_.pop_back();
        row(id) = PodRow{};
        return id;
    }
    void remove(PodId id, Key<Pods>) {
        row(id) = PodRow{};
        vacant_.push_back(id);
    }
    // All of it: what an image says of a pod concerns all parts.
    PodRow& restored(PodId id, Key<StateReader>) { return row(id); }

private:
    [[nodiscard]] PodRow& row(PodId id) { return rows_[id.value()]; }

    std::vector<PodId> vacant_;
};

}  // namespace gpuctl
