#pragma once
// Shared by the files that build views; private to this room.

#include <map>

#include "scheduler/engine/views.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::view_parts {

using Positions = std::map<JobId, std::int64_t>;
Positions positions(const ClusterState& state);
// The start estimates of all waiting jobs. The queues of a pool are merged in the order of their
// priorities.
using Starts = std::map<JobId, StartEstimate>;
Starts starts(const ClusterState& state, const Positions& positions);
PodView pod_view(const ClusterState& state, PodId id);
// Everything that the rows of the job and of its pods contain.
JobView view_of(const ClusterState& state, JobId id);
// The first blocker of the job's pods; nothing: none of them waits.
std::optional<Explanation> first_blocker(const ClusterState& state, JobId id);
// Adds why the job waits. `blocker` is the blocker of its pods, if there is one.
void add_waiting(const ClusterState& state, JobId id, std::optional<Explanation> blocker,
                 JobView& view);
// The view of a finished job that is kept as a summary only.
JobView summary_view(const FinishedJob& job);

// Waiting and running work in each queue, without the queues below it.
struct WorkByQueue {
    std::map<QueueId, QueueWork> of_queue;
    // Work in queues that jobs name and the pool does not have.
    std::map<std::pair<PoolId, std::string>, QueueWork> undeclared;
};
WorkByQueue queue_work(const ClusterState& state);
WorkByQueue queue_work(const Listing& listing);
// The queues of one pool, each queue before its sub-queues.
std::vector<QueueView> queues_of(const ClusterState& state, PoolId pool, const WorkByQueue& work);

// The usage of the budgets of namespaces in the pool, by name.
std::vector<BudgetView> budgets_in(const ClusterState& state, PoolId pool);

}  // namespace gpuctl::view_parts
