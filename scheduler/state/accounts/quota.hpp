#pragma once
// What a namespace may hold in all pools together: what it holds in one pool is in the way of its
// jobs that wait in another.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// `ask` more, and the job's namespace would hold more than it may in all pools. One that asks for
// more than that lacks it for ever.
[[nodiscard]] bool lacks_quota(const ClusterState& state, const JobRow& job, const Load& ask);

// Adds the terminating pods of a namespace that has a quota, but for those in that pool (none: in
// any pool): they release the quota wherever they are.
void add_terminating_of_other_pools(const ClusterState& state, TenantId tenant, PoolId pool,
                                    std::vector<PodId>& out);

}  // namespace gpuctl
