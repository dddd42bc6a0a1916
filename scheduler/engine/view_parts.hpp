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
// All that the job and its pods say of themselves.
JobView view_of(const ClusterState& state, JobId id);
// What is in the way of its pods first; nothing: none of them waits.
std::optional<Explanation> first_blocker(const ClusterState& state, JobId id);
// Why it waits; `blocker` is what stops its pods, if that is known to be anything.
void add_waiting(const ClusterState& state, JobId id, std::optional<Explanation> blocker,
                 JobView& view);
// Of a finished job of which a summary is kept.
JobView summary_view(const FinishedJob& job);

// What waits and runs in each queue itself.
struct WorkByQueue {
    std::map<QueueId, QueueWork> of_queue;
    // Of queues that jobs name and the pool does not have.
    std::map<std::pair<PoolId, std::string>, QueueWork> undeclared;
};
WorkByQueue queue_work(const ClusterState& state);
WorkByQueue queue_work(const Listing& listing);
// The queues of one pool, each before those below it.
std::vector<QueueView> queues_of(const ClusterState& state, PoolId pool, const WorkByQueue& work);

// What namespaces used of their budgets in the pool, by name.
std::vector<BudgetView> budgets_in(const ClusterState& state, PoolId pool);

}  // namespace gpuctl::view_parts
