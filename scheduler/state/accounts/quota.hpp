#pragma once
// The quota of a namespace over all pools: what it holds in one pool can block its jobs that wait
// in another.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// True if `ask` more would exceed the quota of the job's namespace over all pools; also if `ask`
// alone exceeds it.
[[nodiscard]] bool lacks_quota(const ClusterState& state, const JobRow& job, const Load& ask);

// Adds the terminating pods of the namespace outside `pool` (none: of all pools), if it has a
// quota: they release the quota wherever they are.
void add_terminating_of_other_pools(const ClusterState& state, TenantId tenant, PoolId pool,
                                    std::vector<PodId>& out);

}  // namespace gpuctl
