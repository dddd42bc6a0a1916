#include "scheduler/plan/estimate/run_pace.hpp"

#include <algorithm>

namespace gpuctl {

Duration run_time(const RunTimePrediction& prediction, const RunTimeQuestion& about, Pace pace) {
    if (pace == Pace::early) return prediction.low;
    return pace == Pace::median ? prediction.likely : about.limit;
}

Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace) {
    if (pace == Pace::late) return pod.ends_at;
    const RunTimeQuestion about = state.run_times.question_about(state.job(pod.job));
    return end_of(state, pod, pace, about, state.run_times.history().predict(about));
}

Instant end_of(const ClusterState& state, const PodRow& pod, Pace pace,
               const RunTimeQuestion& about, const RunTimePrediction& prediction) {
    if (pace == Pace::late) return pod.ends_at;
    const Duration run = run_time(prediction, about, pace);
    // The run times of other jobs of the namespace do not predict when a service is removed.
    const bool is_endless =
        !pod.facts.runs_to_end && about.expected == Duration{} && !pod.ends_at.happened();
    if (is_endless && pace == Pace::median) return {};
    const Instant begin = std::max({pod.bind.placed_at, pod.facts.started_at, pod.seen_at});
    const Instant now = state.now();
    if (pace == Pace::early) return std::max(begin + run, now);
    if (run == Duration{}) return {};
    Instant end = begin + run;
    if (end <= now) end = now + (now - begin);
    return pod.ends_at.happened() ? std::min(end, std::max(pod.ends_at, now)) : end;
}

}  // namespace gpuctl
