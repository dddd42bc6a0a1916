#pragma once
// Preemption inside a queue: a job of higher priority has others of its queue stopped when it finds
// no room otherwise. Priority is the plain one of both: what a job gained by waiting decides whose
// turn it is, never whom it may stop, or two jobs could stop each other for ever.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::preempt {

// Cheap, and asked whenever a job finds no room: could there be anybody?
bool may_try(const ClusterState& state, const JobRow& job, PodId pod);
// Only work of a priority below its own.
bool is_below(std::int32_t other, std::int32_t own);
bool may_stop(const JobRow& job, const JobRow& other);

}  // namespace gpuctl::preempt
