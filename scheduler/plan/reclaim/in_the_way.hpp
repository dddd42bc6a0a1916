#pragma once
// Work without GPUs that blocks GPUs: on a node that has the GPUs that a job needs, idle or after a
// reclaim, and too little of the other resources that the job needs with them (CPU, memory, pod
// slots, any other). Guaranteed GPUs are useless to a queue without the other resources.

#include <vector>

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::in_the_way {

// The resources other than GPUs that the node has too little of for as many pods as its GPUs are
// sufficient for, at most `ranks`, with `gpus_to_come` more GPUs. Empty: GPUs are what it lacks, or
// nothing.
void read_short(const ClusterState& state, std::uint32_t slot, const Shape& shape,
                std::int64_t ranks, std::int64_t gpus_to_come, std::vector<Column>& out);

// Adds the work that blocks a job whose queue is owed its GPUs to the candidates.
void add(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods, GpuMilli ask,
         Candidates& found);

// Why a pod on that node is evicted for the job.
Cause why(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods,
          NodeId node);

}  // namespace gpuctl::in_the_way
