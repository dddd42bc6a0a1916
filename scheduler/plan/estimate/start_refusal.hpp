#pragma once
// Which refusals the end of other jobs can resolve, so that a start can be estimated.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Refusals that depend on the free GPUs of the pool.
constexpr bool is_about_room(Reason reason) {
    return reason == Reason::none || reason == Reason::gpu_insufficient ||
           reason == Reason::gpu_fragmented || reason == Reason::nodes_insufficient ||
           reason == Reason::reserved || reason == Reason::short_work_first ||
           reason == Reason::maintenance || reason == Reason::set_aside;
}

// Refusals that do not depend on the sum of free GPUs.
constexpr bool lacks_room(Reason reason) {
    return reason == Reason::gpu_insufficient || reason == Reason::gpu_fragmented ||
           reason == Reason::nodes_insufficient;
}

constexpr bool is_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::budget_spent || reason == Reason::reserved_for_growth;
}

// The reason of the job's last refusal, if the refusal is still valid.
inline Reason refusal_of(const ClusterState& state, JobId id) {
    const ClassId waits_in = state.job(id).waiting.in_class;
    if (!waits_in.exists()) return Reason::turn;
    const JobClass& waiting = state.waiting.book().at(waits_in);
    return state.waiting.is_blocked(waiting) ? waiting.block.reason : Reason::none;
}

}  // namespace gpuctl
