#pragma once
// Pools in which short jobs preempt long ones may set the longest total wait of a job
// (`waitTarget`, docs/adr/0018). A job that has nearly waited so long counts as much shorter than
// it is, until it misses the target. Then it misses the target by more, but few jobs do.
//
//     waits ---- 4/5 of the target ----> nears it ---- the target ----> has missed it, waits on
//                                           |
//                                           +-- starts: keeps this until it waits again

#include <optional>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Near its target, a job counts as 2^this times shorter than its remaining work.
inline constexpr std::int64_t kNearTargetLog2 = 3;

struct WaitTarget {
    Instant near_from;
    Instant missed_from;
};
// Of a job that holds nothing; absent: the pool has no target, or its queue is not ordered by run
// time.
[[nodiscard]] std::optional<WaitTarget> wait_target_of(const ClusterState& state,
                                                       const JobRow& job);

// True if the job is near its target; for a job that holds resources: when it last waited.
[[nodiscard]] bool nears_wait_target(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
