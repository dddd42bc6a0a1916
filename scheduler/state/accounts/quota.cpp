#include "scheduler/state/accounts/quota.hpp"

#include <algorithm>
#include <iterator>

#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

bool lacks_quota(const ClusterState& state, const JobRow& job, const Load& ask) {
    if (state.tree.pools() == 1 || !state.tenant(job.tenant).has_quota()) return false;
    bool lacks = false;
    visit_limits(state, job, ask, [&lacks](const LimitHit& hit) {
        return !(lacks = lacks || is_of_all_pools(hit.kind));
    });
    return lacks;
}

void add_terminating_of_other_pools(const ClusterState& state, TenantId tenant, PoolId pool,
                                    std::vector<PodId>& out) {
    if (state.tree.pools() == 1 || !state.tenant(tenant).has_quota()) return;
    std::vector<PodId> terminating_pods;
    state.pods.read_terminating(PoolId::none(), terminating_pods);
    std::copy_if(terminating_pods.begin(), terminating_pods.end(), std::back_inserter(out),
                 [&](PodId id) {
                     const PodRow& pod = state.pod(id);
                     return state.node(pod.node).pool != pool && pod.job.exists() &&
                            state.job(pod.job).tenant == tenant;
                 });
}

}  // namespace gpuctl
