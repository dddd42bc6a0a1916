#pragma once
// Work without GPUs that blocks GPUs: it runs on a node that has the GPUs that a job needs, idle or
// after a reclaim, and too little of the other resources that the job needs with them (CPU, memory,
// pod slots, any other). Guaranteed GPUs are useless to a queue without the other resources.

#include <vector>

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::in_the_way {

// Reads the resources other than GPUs that block ranks on the node. The node has GPUs, together
// with `gpus_to_come`, for a number of pods (at most `ranks`), and too little of these resources
// for them. Empty: it lacks GPUs, or nothing.
void read_short(const ClusterState& state, std::uint32_t slot, const Shape& shape,
                std::int64_t ranks, std::int64_t gpus_to_come, std::vector<Column>& out);

// Adds the work that blocks a job whose queue is owed its GPUs to the candidates.
void add(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods, GpuMilli ask,
         Candidates& found);

// Why a pod on that node is evicted for the job.
Cause why(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods,
          NodeId node);

}  // namespace gpuctl::in_the_way
