// The progress of elastic jobs that state their speed by size. Completed work is measured as the
// time that it would have taken with the fewest ranks, so that it can be compared with the run time
// that users state, whatever sizes the job had.

#include <algorithm>

#include "scheduler/base/wide.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// The number of ranks that work, counted from the first. 0, because nothing is done: there is a
// gap, there are fewer ranks than the minimum, or no rank runs that has not succeeded yet.
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

// After each start and change of size, the job has to reach its previous progress again: that time
// is no progress.
Duration worked(const JobRow& job, Instant now) {
    if (job.elastic.paced_ranks == 0) return {};
    return std::max(now - job.elastic.paced_from - job.record->spec.restart_cost, Duration{});
}

Duration done_with(const JobRow& job, Duration worked) {
    const std::int64_t milli = speed_of(job.record->spec.speeds, job.elastic.paced_ranks);
    // a speed is at most 10^6: sums stay within 63 bits
    return job.elastic.done + Duration{times_ratio(worked.ms(), milli, kSpeedOfOne)};
}

}  // namespace

Duration RunTimes::work_done(const JobRow& job) const {
    return done_with(job, worked(job, state_.session.now()));
}

// Work done before a change of size is kept: frameworks save it in the grace period of the pods
// that go. A job that is evicted as a whole keeps its work up to the last checkpoint, like all
// jobs.
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
