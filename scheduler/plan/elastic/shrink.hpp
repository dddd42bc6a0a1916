#pragma once
// The ranks of elastic jobs above their minimum are released for waiting jobs before any job is
// evicted as a whole (docs/adr/0017): for a job of at least the same priority, and for a queue that
// reclaims what it lent. Never below the minimum, and never below the guarantee of a queue for
// another queue.

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::shrink {

// A cheap check whenever a job finds no room for `ask`: is there an elastic job in its pool, or in
// its namespace if it lacks the quota of that?
bool may_try(const ClusterState& state, const JobRow& job, const Load& ask);

// Ranks that could be released for `ask` of the job, each after the ranks of its own job before it.
// Lowest priority first, then by the smallest loss as far as it is known, then jobs with most extra
// ranks, so that few jobs change. Ranks in other pools only if the job lacks the quota of its
// namespace.
void find_surplus(const ClusterState& state, const JobRow& job, const Load& ask, Candidates& out);

}  // namespace gpuctl::shrink
