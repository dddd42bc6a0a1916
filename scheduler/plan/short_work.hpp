#pragma once
// GPUs of a pool that long work never holds (BackfillPolicy::short_percent): short work then finds
// a door that opens within `short_run_time`, however full the pool is of long work. What a job is
// counts by its prediction when it is placed. A job that has waited for the pool's patience, and
// one too large to fit beside what is kept, go all the same: nobody waits for ever.
//
// Lives for one Plan and pool.

#include <cstdint>

#include "scheduler/policy/shortest_first.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ShortWork {
public:
    void open(const ClusterState& state, PoolId pool);

    [[nodiscard]] bool is_kept() const { return kept_ > GpuMilli{0}; }
    [[nodiscard]] bool is_long(const ClusterState& state, ClassId of, ShortestFirst& scores) const;
    // Work that is long may not have `asked` more now.
    [[nodiscard]] bool keeps_out(const ClusterState& state, const JobRow& job,
                                 GpuMilli asked) const;
    // For work that runs already and could do with more.
    [[nodiscard]] bool has_room_for_long(GpuMilli asked) const {
        return held_by_long_ + asked <= total_ - kept_;
    }
    void note_placed(GpuMilli gpus) { held_by_long_ += gpus; }

private:
    BackfillPolicy policy_;
    GpuMilli total_;
    GpuMilli kept_;
    GpuMilli held_by_long_;
};

}  // namespace gpuctl
