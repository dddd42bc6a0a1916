#include <algorithm>
#include <utility>
#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/pods/leaving.hpp"

namespace gpuctl {

std::string Evictions::why_evicted(const JobRow& job, EvictionCause cause) const {
    const std::string name = to_string(job.key);
    if (cause == EvictionCause::shrunk) return "shrunk for waiting job " + name;
    if (cause == EvictionCause::preempted) return "preempted by higher-priority job " + name;
    return "preempted because queue " + state_.tree.queue_path(job.queue) +
           " reclaimed GPUs that it had lent, for job " + name;
}

void Evictions::drain(const std::vector<PodId>& pods, EvictionCause cause, const std::string& why,
                      EffectList& effects) {
    const auto is_new = [this](PodId pod) {
        return state_.pods.rows()[pod.value()].eviction.state == EvictionState::none;
    };
    if (std::any_of(pods.begin(), pods.end(), is_new)) forget_old_moves();
    for (const PodId pod : pods) {
        if (is_new(pod)) request_eviction(pod, cause, why);
        state_.pods.rows()[pod.value()].eviction.beneficiary = ObjectKey{};
        send_eviction(pod, effects);
    }
}

}  // namespace gpuctl
