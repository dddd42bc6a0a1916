#pragma once
// Preemption within a queue: a job of higher priority evicts pods of its queue if it finds no room
// otherwise. It compares the priorities without ageing: ageing decides the order of jobs, never
// preemption, or two jobs could preempt each other for ever.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::preempt {

// A cheap check whenever a job finds no room: could there be a victim?
bool may_try(const ClusterState& state, const JobRow& job, PodId pod);
// Only work of a lower priority.
bool is_below(std::int32_t other, std::int32_t own);
bool may_stop(const JobRow& job, const JobRow& other);

}  // namespace gpuctl::preempt
