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

// Why a pod is evicted and a job resized was a sentence, empty without one (ADR 0039). It is read
// as a cause that is a sentence.
void drop_empty_sentences(StateImage& image) {
    const auto drop = [](CauseBox& why) {
        const auto* sentence = why ? std::get_if<std::string>(&*why) : nullptr;
        if (sentence != nullptr && sentence->empty()) why.reset();
    };
    for (PodImage& pod : image.pods) drop(pod.eviction_request.why);
    for (JobImage& job : image.jobs) drop(job.elastic.why);
    for (auto& [key, churn] : image.churn) drop(churn.why);
}

}  // namespace

void upgrade(Input&, std::uint64_t) {}
void upgrade(StateImage& image, std::uint64_t written) {
    if (written < 2) keep_reasons_with_evictions(image);
    if (written < 5) drop_empty_sentences(image);
}

}  // namespace gpuctl
