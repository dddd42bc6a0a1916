#pragma once
// How much is left of a job, in pools that stop long work for short (docs/adr/0018). The time left
// is what its user says, or what past jobs of its owner make likely, less what it has done and
// kept; times its GPUs to a power that the pool chooses, so that of two jobs alike the one that
// gives back less room per hour of its own comes later.
//
// Sizes are logarithms to base 2, in 65536ths: they are only ever compared.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class WorkLeft {
public:
    // Of one that waits. Jobs of one class have the same: what is said of run times counts rounded
    // up to the steps that classes are told apart by.
    std::int64_t of_waiting(const ClusterState& state, const JobRow& job);
    // The time alone of a job of which so much is done.
    Duration time_left(const ClusterState& state, const RunTimeQuestion& about, Duration done);

private:
    std::vector<Duration> runs_;  // buffer
};

// The one factor of all sizes: time times GPUs to the pool's power.
std::int64_t size_log2(const PreemptionPolicy& policy, Duration time, GpuMilli gpus);

}  // namespace gpuctl
