#include "scheduler/state/run_times/present_run.hpp"

#include <algorithm>

namespace gpuctl {

Instant run_began(const ClusterState& state, const JobRow& job) {
    Instant first;
    const auto consider = [&](Instant started) {
        if (started <= job.run.earlier_runs_until) return;
        if (!first.happened() || started < first) first = started;
    };
    consider(job.run.started_at);
    for (const PodId pod : job.pods) consider(state.pod(pod).facts.started_at);
    return first.happened() ? first : job.run.started_at;
}

void note_gone_start(JobRow& job, Instant started) {
    if (started <= job.run.earlier_runs_until) return;  // its run was noted when it was over
    const bool is_first = job.run.started_at <= job.run.earlier_runs_until;
    if (is_first || started < job.run.started_at) job.run.started_at = started;
}

void note_stopped(const ClusterState& state, JobRow& job, PodId stopped) {
    const Instant ended = state.pod(stopped).facts.finished_at;  // never: as far as is known, now
    Instant last = job.run.earlier_runs_until;
    for (const PodId id : job.pods) {
        const PodFacts& pod = state.pod(id).facts;
        // After a restart pods are heard of in any order: one of the next run before this one.
        if (ended.happened() && pod.started_at > ended) continue;
        if (id != stopped && is_running(pod)) return;
        last = std::max(last, pod.started_at);
    }
    job.run.started_at = run_began(state, job);
    job.run.earlier_runs_until = std::max(last, job.run.started_at);
}

}  // namespace gpuctl
