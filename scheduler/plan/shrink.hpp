#pragma once
// The ranks that elastic jobs have above their minimum yield to those who wait, before anybody is
// stopped as a whole (ADR 0017): to a job of no lower priority, and to a queue that takes back what
// it lent. Never below the minimum, and no queue below its guarantee for another's sake.

#include "scheduler/plan/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::shrink {

// Cheap, and asked whenever a job finds no room for `ask`: is there any elastic job in its pool, or
// of its namespace where it lacks the quota of that?
bool may_try(const ClusterState& state, const JobRow& job, const Load& ask);

// Ranks that could go for `ask` of the job, each after those of its own job before it: first of the
// least priority, then of who loses least by it as far as that is known, then of the jobs with most
// to give, so that few jobs change. Ranks in other pools only where it is the quota of its
// namespace that the job lacks.
void find_surplus(const ClusterState& state, const JobRow& job, const Load& ask, Candidates& out);

}  // namespace gpuctl::shrink
