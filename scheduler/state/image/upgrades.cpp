#include "scheduler/state/image/upgrades.hpp"

namespace gpuctl {

namespace {

// Why a pod was asked to go was kept with its job, which was charged for it then (ADR 0029).
void keep_reasons_with_evictions(StateImage& image) {
    for (PodImage& pod : image.pods) {
        if (pod.eviction == EvictionState::none) continue;
        const auto job = image.churn.find({pod.facts.key.namespace_name, pod.facts.job});
        if (job != image.churn.end()) pod.eviction_request.why = job->second.why;
    }
}

}  // namespace

void upgrade(Input&, std::uint64_t) {}
void upgrade(StateImage& image, std::uint64_t written) {
    if (written < 2) keep_reasons_with_evictions(image);
}

}  // namespace gpuctl
