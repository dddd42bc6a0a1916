#pragma once
// Preemption within a queue: a job of higher priority evicts pods of its queue if it finds no room
// otherwise. Priorities are compared without ageing. Ageing decides the order of jobs but never
// preemption; otherwise two jobs could preempt each other for ever.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::preempt {

// A cheap check whenever a job finds no room: could there be a victim?
bool may_try(const ClusterState& state, const JobRow& job, PodId pod);
// True if work of priority `other` may be preempted for work of priority `own`.
bool is_below(std::int32_t other, std::int32_t own);
bool may_stop(const JobRow& job, const JobRow& other);

}  // namespace gpuctl::preempt
