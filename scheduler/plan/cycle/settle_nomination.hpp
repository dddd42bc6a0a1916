#pragma once
// Resolves a nomination (room that pods are evicted for): uses it when it is free and allowed,
// drops it when it is no longer useful (docs/adr/0013).

#include "scheduler/plan/commit.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void settle_nomination(Commit& commit, JobId job);

}  // namespace gpuctl
