#pragma once
// Reclaim between queues: a lent guarantee returns to its queue before any job of that queue is
// preempted. A queue below its guarantee, counting the job and what is reserved below it, takes
// from sibling queues that hold more than theirs, and leaves each of them its guarantee, at every
// level of the tree and for every GPU model. So the used part of guarantees only grows by a
// reclaim, and there is no cycle of jobs that evict each other.
//
// Priorities do not matter: a guarantee belongs to the queue, whichever job runs in it. If
// guarantees hold only for queues with a demand within them (PreemptionPolicy::guarantees), a queue
// with more demand has none. The eviction budget then bounds the cycle, since demand changes only
// from Plan to Plan.

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/accounts/relief.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::reclaim {

// Where the chains of two queues of one pool meet: the direct children of that queue, one above (or
// equal to) each.
struct Sides {
    QueueId own;
    QueueId other;  // none: the same queue, or one is above the other
};
Sides sides(const ClusterState& state, QueueId own, QueueId other);

// Whether a queue and the queues above it, up to `last`, have their guarantees without pods that
// are gone.
bool chain_keeps_guarantees(const ClusterState& state, QueueId leaf, QueueId last,
                            const Relief& gone);

// Does a queue of the job's chain have a guarantee, and could one hold `ask` more within its
// guarantee?
struct Standing {
    bool has_guarantee = false;
    bool is_owed = false;
};
Standing standing(const ClusterState& state, const JobRow& job, GpuMilli ask);

// A cheap check whenever a job finds no room: does a sibling of a queue that is owed something
// exceed its guarantee?
bool may_try(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods of `other` be evicted for it at all?
bool may_stop(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Work without GPUs holds no part of a guarantee, and evicts no pod for one: no cycle. If it blocks
// GPUs of a job whose queue is owed them, it is evicted, whatever its own queue is guaranteed. A
// cheap check: could there be any?
bool may_try_to_clear(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods without GPUs of `other` be evicted for it?
bool may_clear(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Keeps the units, in their order, that may all be evicted together in addition to terminating
// pods. Any subset of them may be evicted, too.
void leave_guarantees(const ClusterState& state, const JobRow& job,
                      const std::vector<PodId>& leaving, std::vector<const EvictionUnit*>& units);

}  // namespace gpuctl::reclaim
