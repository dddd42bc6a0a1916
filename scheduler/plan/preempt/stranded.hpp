#pragma once
// A gang that ran completely, lost ranks and has found no room for them for longer than
// policy.gangRepairDeadline does no work: it is stranded. A job that fits on its capacity may have
// it evicted (docs/adr/0027), independent of priorities and of the gang's preemptibility. The gang
// is evicted as a whole, if its controller creates its pods again and within its eviction budget.
// If all of the gang fits elsewhere, it is evicted to start there.

#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::stranded {

// A cheap check whenever a job finds no room: is there another stranded gang in its pool?
bool may_try(const ClusterState& state, const JobRow& job);

// May the gang `other` be evicted for the job?
bool may_stop(const JobRow& job, const JobRow& other);

// Is the job a stranded gang that may be evicted to start elsewhere as a whole?
bool may_restart(const JobRow& job);

// Why the gang `other` is evicted for the job.
Cause why(const ClusterState& state, const JobRow& job, const JobRow& other);

Cause why_restarted(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl::stranded
