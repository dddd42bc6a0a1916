#pragma once
// The ranks of elastic jobs above their minimum are released for waiting jobs before any job is
// evicted as a whole (docs/adr/0017): for a job of at least the same priority, and for a queue that
// reclaims what it lent. A job never shrinks below its minimum. A queue never falls below its
// guarantee for another queue.

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::shrink {

// A cheap check whenever a job finds no room for `ask`: is there an elastic job in its pool, or in
// its namespace if the job lacks the quota of its namespace?
bool may_try(const ClusterState& state, const JobRow& job, const Load& ask);

// Adds ranks that could be released for `ask` of the job. A rank follows the ranks of its own job
// that must be released before it. The order is: lowest priority first, then the smallest loss as
// far as it is known, then the jobs with most extra ranks, so that few jobs change. Ranks in other
// pools are added only if the job lacks the quota of its namespace.
void find_surplus(const ClusterState& state, const JobRow& job, const Load& ask, Candidates& out);

}  // namespace gpuctl::shrink
