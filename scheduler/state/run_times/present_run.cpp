#include "scheduler/state/run_times/present_run.hpp"

#include <algorithm>

namespace gpuctl {

Instant run_began(const ClusterState& state, const JobRow& job) {
    Instant first;
    const auto consider = [&](Instant started) {
        if (job.run.is_of_earlier_run(started)) return;
        if (!first.happened() || started < first) first = started;
    };
    consider(job.run.started_at);
    for (const PodId pod : job.pods) consider(state.pod(pod).facts.started_at);
    return first.happened() ? first : job.run.started_at;
}

void RunTimes::note_gone(JobId id, const PodFacts& pod) {
    RunRow& run = state_.jobs.rows().run(id, {});
    if (!run.is_of_earlier_run(pod.started_at)) {  // else the run was recorded when it was over
        const bool is_first = run.phase() != RunPhase::under_way;
        if (is_first || pod.started_at < run.started_at) run.started_at = pod.started_at;
    }
    run.finished_at = std::max(run.finished_at, pod.finished_at);
}

void RunTimes::note_stopped(JobId id, PodId stopped) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const Instant ended = state_.pod(stopped).facts.finished_at;  // never: now, as far as is known
    Instant last = job.run.earlier_runs_until;
    for (const PodId other : job.pods) {
        const PodFacts& pod = state_.pod(other).facts;
        // After a restart, pods are reported in any order: a pod of the next run may come first.
        if (ended.happened() && pod.started_at > ended) continue;
        if (other != stopped && is_running(pod)) return;
        last = std::max(last, pod.started_at);
    }
    RunRow& run = state_.jobs.rows().run(id, {});
    run.started_at = run_began(state_, job);
    run.earlier_runs_until = std::max(last, run.started_at);
}

}  // namespace gpuctl
