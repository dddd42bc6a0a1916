#pragma once
// Where a pool goes by when work is due (docs/adr/0018), a time that cannot be kept says nothing
// of which job should go first, and under overload the GPUs would be spent on what is late anyway.
// So of a job whose user says how long it takes, what it may take is doubled as long as it would
// take half as much again, even if it began now.
//
//     may take 1x ---- waits too long for that ----> 2x ----> 4x ----> ... 65536x
//          |
//          +-- starts: stays what it was until it waits again

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Now; of one that holds something, what it was when it waited last.
[[nodiscard]] Lateness lateness_of(const ClusterState& state, const JobRow& job);

// How long a job that needs `whole` alone may take from when it came.
[[nodiscard]] std::int64_t allowed_ms(const ClusterState& state, const JobRow& job, Duration whole);

}  // namespace gpuctl
