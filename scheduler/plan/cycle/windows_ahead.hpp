#pragma once
// Maintenance windows that the pods of a job would run in or into.

#include <optional>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Later placements avoid these windows. True: some of the windows have not begun.
inline bool avoid_windows_ahead(const ClusterState& state, Placer& placer, JobId job,
                                const std::vector<PodId>& pods) {
    if (!state.maintenance.has_windows()) return false;
    const WindowSet windows =
        state.maintenance.barred(state.maintenance.stay_of(state.job(job), pods), state.now());
    const bool is_any_ahead = (windows & ~state.maintenance.calendar().closed) != 0;
    placer.keep_outside(is_any_ahead ? std::optional{windows} : std::nullopt);
    return is_any_ahead;
}

}  // namespace gpuctl
