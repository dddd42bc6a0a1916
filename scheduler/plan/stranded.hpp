#pragma once
// A gang that ran as a whole, lost ranks and has found no room for them for longer than
// policy.gangRepairDeadline does no work: a job that fits on what it holds may have it stopped
// (ADR 0027), whatever their priorities, and also when its user does not want it stopped for
// others. Whole, of controllers that make its pods again, within its churn budget. Where all of it
// fits elsewhere it is stopped for itself.

#include "scheduler/plan/victims.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::stranded {

// Cheap, and asked whenever a job finds no room: is there any in its pool beside itself?
bool may_try(const ClusterState& state, const JobRow& job);

// May this one be stopped for the job?
bool may_stop(const JobRow& job, const JobRow& other);

// Is it one of them, and could be stopped to start elsewhere as a whole?
bool may_start_anew(const JobRow& job);

// Told to one that is stopped.
std::string why(const ClusterState& state, const JobRow& job, const JobRow& other);

std::string why_anew(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl::stranded
