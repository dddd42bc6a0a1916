#pragma once
// In a pool with due times (docs/adr/0018), a due time that cannot be kept must not decide which
// job goes first: under overload, the GPUs would be spent on jobs that are late anyway. So the
// allowed time of a job with a stated run time is doubled while the job would take half as much
// again, even if it began now.
//
//     may take 1x ---- waits too long for that ----> 2x ----> 4x ----> ... 65536x
//          |
//          +-- starts: keeps its value until it waits again

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The present value; for a job that holds resources, the value when it last waited.
[[nodiscard]] Lateness lateness_of(const ClusterState& state, const JobRow& job);

// The time that a job which needs `whole` alone may take, counted from its submission.
[[nodiscard]] std::int64_t allowed_ms(const ClusterState& state, const JobRow& job, Duration whole);

}  // namespace gpuctl
