#include "scheduler/state/pods/terminating.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/quota.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/tree/queue_chain.hpp"

namespace gpuctl {
namespace {

// True if a limit of a queue or of a namespace counts both jobs.
bool shares_a_limit(const ClusterState& state, const JobRow& job, const JobRow& other) {
    if (&job == &other) return true;
    if (job.tenant == other.tenant && state.tenant(job.tenant).has_limits()) return true;
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        if (state.queue(id).has_limits() && is_below(state, other.queue, id)) return true;
    }
    return false;
}

}  // namespace

bool has_limits_for_all(const ClusterState& state, PoolId id) {
    const PoolRow& pool = state.pool(id);
    return pool.reserve() > GpuMilli{} || !pool.reserved_models.empty() ||
           std::any_of(pool.queues.begin(), pool.queues.end(), [&state](QueueId queue) {
               return state.queue(queue).not_lent > GpuMilli{};
           });
}

Duration grace_of_terminating(const ClusterState& state, const JobRow& job,
                              const std::vector<Placement>& round) {
    std::vector<PodId> terminating_pods;
    state.pods.read_terminating(job.pool, terminating_pods);
    Load ask;
    for (const Placement& one : round) ask.add(state.shape_of(one.pod).load());
    if (lacks_quota(state, job, ask)) {
        add_terminating_of_other_pools(state, job.tenant, job.pool, terminating_pods);
    }
    if (terminating_pods.empty()) return {};
    const bool all_count = has_limits_for_all(state, job.pool);
    Duration longest;
    for (const PodId id : terminating_pods) {
        const PodRow& pod = state.pod(id);
        const bool is_on_its_nodes = std::any_of(
            round.begin(), round.end(), [&pod](const auto& one) { return one.node == pod.node; });
        const bool is_here = state.node(pod.node).pool == job.pool;
        const bool counts = pod.job.exists() && ((all_count && is_here) ||
                                                 shares_a_limit(state, job, state.job(pod.job)));
        if (!is_on_its_nodes && !counts) continue;
        const Duration left =
            pod.leaves_at.happened() ? pod.leaves_at - state.now() : pod.facts.stop_grace;
        longest = std::max(longest, left);
    }
    return longest;
}

// The pod is terminating, or stays after all. The room that it releases may be so large that
// evicting a few more pods is enough for a job. If it stays, a job that waited for it may have to
// evict other pods.
void Pods::note_termination(PodId id) {
    const PodRow& pod = pods_[id.value()];
    if (pod.node.exists()) maybe_terminating_.insert(id);
    if (!pod.node.exists() || has_fault(SeededFault::forget_new_victims)) return;
    const PoolId pool = state_.nodes.rows()[pod.node.value()].pool;
    if (!pool.exists()) return;
    state_.tree.note_termination(pool);
    if (pod.job.exists()) state_.tree.note_termination(state_.jobs.rows()[pod.job.value()].tenant);
    state_.session.note_news();
}

bool Pods::is_free(const std::vector<Placement>& round) const {
    return std::all_of(round.begin(), round.end(), [this](const Placement& placement) {
        const Needs& needs = shapes_.at(pods_[placement.pod.value()].shape).needs;
        return std::none_of(needs.begin(), needs.end(), [&](const Need& need) {
            return state_.nodes.capacity().is_overdrawn(placement.node.value(), need,
                                                        placement.device);
        });
    });
}

}  // namespace gpuctl
