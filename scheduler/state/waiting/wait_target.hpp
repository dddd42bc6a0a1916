#pragma once
// Where long work is stopped for short, pools may say how long a job should wait at most,
// altogether
// (`waitTarget`, docs/adr/0018). One that has nearly waited so long goes by less than is left of
// it, until it has: a job that misses the target anyway misses it by more, and so few do.
//
//     waits ---- 4/5 of the target ----> nears it ---- the target ----> has missed it, waits on
//                                           |
//                                           +-- starts: stays what it was until it waits again

#include <optional>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// log2 of how many times less than is left a job near its target counts for.
inline constexpr std::int64_t kNearTargetLog2 = 3;

struct WaitTarget {
    Instant near_from;
    Instant missed_from;
};
// Of a job that holds nothing; absent: the pool has none, or its queue does not go by run time.
[[nodiscard]] std::optional<WaitTarget> wait_target_of(const ClusterState& state,
                                                       const JobRow& job);

// Whether it nears its target now; of one that holds something, what it did when it last waited.
[[nodiscard]] bool nears_wait_target(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
