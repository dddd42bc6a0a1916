#pragma once
// What a namespace may hold in all pools together: there what stands in one pool is in the way of
// who waits in another.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// `ask` more, and the job's namespace would hold more than it may in all pools. One that asks for
// more than that lacks it for ever.
[[nodiscard]] bool lacks_quota(const ClusterState& state, const JobRow& job, const Load& ask);

// Adds those of a namespace that has a quota who are on their way out of any pool but that one
// (none: of any): it is freed by their going wherever they are.
void add_leaving_elsewhere(const ClusterState& state, TenantId tenant, PoolId pool,
                           std::vector<PodId>& out);

}  // namespace gpuctl
