#pragma once
// Maintenance windows that the pods of a job would run in or into.

#include <optional>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Later placements avoid them, if the pods start at most `within` from now. True: some of the
// windows have not begun.
inline bool avoid_windows_ahead(const ClusterState& state, Placer& placer, const JobRow& job,
                                const std::vector<PodId>& pods, Duration within = {}) {
    if (!state.maintenance.has_windows()) return false;
    const WindowSet windows =
        state.maintenance.barred(state.maintenance.stay_of(job, pods), state.now(), within);
    const bool is_any_ahead = (windows & ~state.maintenance.calendar().closed) != 0;
    placer.keep_outside(is_any_ahead ? std::optional{windows} : std::nullopt);
    return is_any_ahead;
}

}  // namespace gpuctl
