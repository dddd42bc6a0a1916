// How far elastic jobs are that say how fast they are by size: what they have done counts as the
// time that it would have taken with their fewest ranks, so that it can be compared with what their
// users say, whatever sizes they had.

#include <algorithm>

#include "scheduler/base/wide.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// From the first on without a gap; with a gap, with fewer than it must have, or when none runs that
// has not succeeded yet, nothing is done.
std::int32_t ranks_at_work(const ClusterState& state, const JobRow& job) {
    std::int32_t ranks = 0;
    bool does_any_run = false;
    for (const PodId id : job.pods) {  // by rank
        ranks = job.gang.finished.first_open(ranks);
        const PodRow& pod = state.pod(id);
        const bool runs = pod.node.exists() && pod.bind.state != BindState::nominated;
        const bool works = runs || pod.facts.phase == PodPhase::succeeded;
        if (!works || pod.is_surplus) continue;
        if (pod.facts.rank != ranks) return 0;
        does_any_run = does_any_run || runs;
        ++ranks;
    }
    return !does_any_run || ranks < job.record->spec.replicas_min ? 0 : ranks;
}

// Getting to where it was, after each start and change of size, is no progress.
Duration worked(const JobRow& job, Instant now) {
    if (job.elastic.paced_ranks == 0) return {};
    return std::max(now - job.elastic.paced_from - job.record->spec.restart_cost, Duration{});
}

Duration done_with(const JobRow& job, Duration worked) {
    const std::int64_t milli = speed_of(job.record->spec.speeds, job.elastic.paced_ranks);
    // A speed is at most 10^6: no sum leaves 63 bits.
    return job.elastic.done + Duration{times_ratio(worked.ms(), milli, kSpeedOfOne)};
}

}  // namespace

Duration RunTimes::work_done(const JobRow& job) const {
    return done_with(job, worked(job, state_.session.now()));
}

// What was done before a change of size is kept: frameworks save it in the grace of the pods that
// go. One that is stopped as a whole keeps what it declares to, as all others do.
void RunTimes::note_pace(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (!is_paced(job)) return;
    const std::int32_t ranks = ranks_at_work(state_, job);
    if (ranks == job.elastic.paced_ranks) return;
    const Duration interval = job.record->spec.checkpoint_interval;
    Duration kept = worked(job, state_.session.event_time());
    if (ranks == 0) {
        kept = interval > Duration{} ? Duration{kept.ms() - kept.ms() % interval.ms()} : Duration{};
    }
    state_.elastic.note_pace(id, done_with(job, kept), ranks);
}

}  // namespace gpuctl
