#pragma once
// Work that holds no GPUs and keeps them from others: where a node has the GPUs that a job asks
// for, idle or once what is lent there is gone, and too little of what the job needs beside them
// (CPU, memory, pod slots, any other resource). GPUs that a queue is guaranteed are worth nothing
// to it without the rest.

#include <string>
#include <vector>

#include "scheduler/plan/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::in_the_way {

// What such pods ask for beside GPUs and the node has too little of for as many of them, `ranks` at
// most, as its GPUs would do for, with `gpus_to_come` more of those. Empty: GPUs are what it lacks,
// or nothing.
void read_short(const ClusterState& state, std::uint32_t slot, const Shape& shape,
                std::int64_t ranks, std::int64_t gpus_to_come, std::vector<Column>& out);

// Adds to what was found what is in the way of a job whose queue is owed its GPUs.
void add(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods, GpuMilli ask,
         Candidates& found);

// For users of a pod that is stopped for it.
std::string why(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods,
                NodeId node);

}  // namespace gpuctl::in_the_way
