#pragma once
// GPUs of a pool that long work may not hold (BackfillPolicy::short_percent), so that short work
// finds free GPUs within `short_run_time` even if the pool is full of long work. The predicted run
// time of a job when it is placed decides whether it is long. A job that has waited for the pool's
// patience, and a job too large to fit with this share, are exempt: no job starves.
//
// Lifetime: one Plan and pool.

#include <cstdint>

#include "scheduler/policy/shortest_first.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ShortWork {
public:
    void open(const ClusterState& state, PoolId pool);

    [[nodiscard]] bool is_reserved() const { return reserved_ > GpuMilli{0}; }
    [[nodiscard]] bool is_long(const ClusterState& state, ClassId of, ShortestFirst& scores) const;
    // True if the job is long work and may not get `asked` more GPUs now.
    [[nodiscard]] bool is_exhausted_by(const ClusterState& state, const JobRow& job,
                                       GpuMilli asked) const;
    // True if long work that runs may grow by `asked`.
    [[nodiscard]] bool has_room_for_long(GpuMilli asked) const {
        return held_by_long_ + asked <= total_ - reserved_;
    }
    void note_placed(GpuMilli gpus) { held_by_long_ += gpus; }

private:
    BackfillPolicy policy_;
    GpuMilli total_;
    GpuMilli reserved_;
    GpuMilli held_by_long_;
};

}  // namespace gpuctl
