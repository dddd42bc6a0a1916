#pragma once
// Shared by the files that make views; private to this room.

#include <map>

#include "scheduler/engine/views.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::view_parts {

using Positions = std::map<JobId, std::int64_t>;
Positions positions(const ClusterState& state);
// Of every waiting job, the pools' queues taken together in the order of their priorities.
using Starts = std::map<JobId, StartEstimate>;
Starts starts(const ClusterState& state, const Positions& positions);
PodView pod_view(const ClusterState& state, PodId id);
// Of a finished job of which a summary is kept.
JobView summary_view(const FinishedJob& job);

// What waits and runs in a queue itself.
struct Work {
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;
    GpuMilli gpus_claimed;
};
using QueueWork = std::map<QueueId, Work>;
QueueWork queue_work(const ClusterState& state);
// The queues of one pool, each before those below it.
std::vector<QueueView> queues_of(const ClusterState& state, PoolId pool, const QueueWork& work);

// What namespaces used of their budgets in the pool, by name.
std::vector<BudgetView> budgets_in(const ClusterState& state, PoolId pool);

}  // namespace gpuctl::view_parts
