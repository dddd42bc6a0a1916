#pragma once
// Reclaim between queues: a lent guarantee returns to its queue before any job of that queue is
// preempted. A queue below its guarantee, counting the job and what is reserved below it, takes
// from sibling queues that hold more than their guarantee, and leaves each of them its guarantee,
// at every level of the tree and for every GPU model. So the used part of guarantees only grows by
// a reclaim, and there is no cycle of jobs that evict each other.
//
// Priorities do not matter: a guarantee belongs to the queue, whichever job runs in it. If
// guarantees hold only for queues with a demand within them (PreemptionPolicy::guarantees), a queue
// with more demand has no guarantee. The eviction budget then bounds the cycle, since demand
// changes only from Plan to Plan.

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::reclaim {

// Where the chains of two queues of one pool meet: the two children of the queue where they meet,
// each above (or equal to) one of the two queues.
struct Sides {
    QueueId own;
    QueueId other;  // none: the queues are the same, or one is above the other
};
Sides sides(const ClusterState& state, QueueId own, QueueId other);

// Whether a queue and the queues above it, up to `last`, would still have their guarantees if the
// pods in `gone` were gone.
bool chain_keeps_guarantees(const ClusterState& state, QueueId leaf, QueueId last,
                            const ReleasedUsage& gone);

// Has a queue of the job's chain a guarantee, and could one hold `ask` more within its guarantee?
struct GuaranteeState {
    bool has_guarantee = false;
    bool is_owed = false;
};
GuaranteeState guarantee_state(const ClusterState& state, const JobRow& job, GpuMilli ask);

// A cheap check whenever a job finds no room: does a sibling of a queue that is owed something
// exceed its guarantee?
bool may_try(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods of `other` be evicted for the job to satisfy a guarantee?
bool may_stop(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Work without GPUs holds no part of a guarantee, and evicts no pod for a guarantee, so there is no
// cycle. If it blocks GPUs of a job whose queue is owed them, it is evicted, whatever its own queue
// is guaranteed. A cheap check: could there be such work?
bool may_try_to_clear(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods without GPUs of `other` be evicted for the job?
bool may_clear(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Reduces `units` to those, in their order, that may all be evicted together in addition to
// terminating pods. Any subset of them may be evicted, too.
void leave_guarantees(const ClusterState& state, const JobRow& job,
                      const std::vector<PodId>& terminating_pods,
                      std::vector<const EvictionUnit*>& units);

}  // namespace gpuctl::reclaim
