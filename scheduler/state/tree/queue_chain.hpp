#pragma once
// A queue and those above it.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The queue is `top`, or lies below it.
inline bool is_below(const ClusterState& state, QueueId queue, QueueId top) {
    for (QueueId up = queue; up.exists(); up = state.queue(up).parent) {
        if (up == top) return true;
    }
    return false;
}

}  // namespace gpuctl
