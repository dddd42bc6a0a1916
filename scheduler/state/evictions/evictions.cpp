#include <algorithm>
#include <utility>
#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/pods/leaving.hpp"

namespace gpuctl {

Cause Evictions::why_evicted(const JobRow& job, EvictionCause cause) const {
    if (cause == EvictionCause::shrunk) return cause::ShrunkFor{job.key};
    if (cause == EvictionCause::preempted) return cause::HigherPriority{job.key};
    return cause::Reclaimed{state_.tree.queue_path(job.queue), job.key};
}

void Evictions::drain(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why,
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
