#pragma once
// What a refusal says about a start: of which jobs the end of others tells when they begin.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What the pool's free GPUs say something about.
constexpr bool is_about_room(Reason reason) {
    return reason == Reason::none || reason == Reason::gpu_insufficient ||
           reason == Reason::gpu_fragmented || reason == Reason::nodes_insufficient ||
           reason == Reason::reserved || reason == Reason::short_work_first ||
           reason == Reason::maintenance || reason == Reason::set_aside;
}

// Whatever the sum of free GPUs says.
constexpr bool lacks_room(Reason reason) {
    return reason == Reason::gpu_insufficient || reason == Reason::gpu_fragmented ||
           reason == Reason::nodes_insufficient;
}

constexpr bool is_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::budget_spent || reason == Reason::kept_for_growth;
}

// Why it was refused when it was last tried, if that still holds.
inline Reason refusal_of(const ClusterState& state, JobId id) {
    const ClassId waits_in = state.job(id).waits_in;
    if (!waits_in.exists()) return Reason::turn;
    const JobClass& waiting = state.book().at(waits_in);
    return state.is_blocked(waiting) ? waiting.block.reason : Reason::none;
}

}  // namespace gpuctl
