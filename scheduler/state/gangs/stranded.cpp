// Gangs that were whole, lost ranks and find no room for new ones. What they hold does no work, and
// two such gangs may hold what each other needs. After a while, jobs that fit on this room may take
// it (docs/adr/0027). While no job fits there, the gang keeps it.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

Instant Gangs::stranded_from(const JobRow& job) const {
    const bool counts = state_.session.policy().gang_repair_deadline > Duration{} &&
                        job.gang.short_since.happened();
    if (!counts) return {};
    if (has_fault(SeededFault::stop_short_gangs_at_once)) return job.gang.short_since;
    return job.gang.short_since + state_.session.policy().gang_repair_deadline;
}

// The time begins when the gang waits in its queue for the missing ranks. Before that it waits for
// itself: its ranks do not exist yet, or are gated. When the time is over, jobs that found no room
// are tried again.
void Gangs::note_stranded(JobId id, const Readiness& ready) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    GangRow& gang = state_.jobs.rows().gang(id, {});
    if (ready.resume && job.gang.started && !job.gang.short_since.happened()) {
        const bool holds = std::any_of(job.pods.begin(), job.pods.end(), [this](PodId pod) {
            const PodRow& row = state_.pods.rows()[pod.value()];
            return row.bind.state == BindState::bound && !row.is_terminating() &&
                   !row.bind.delete_in_flight;
        });
        if (holds && job.waiting.in_class.exists()) gang.short_since = state_.session.event_time();
    }
    const Instant from = stranded_from(job);
    const bool is_stranded =
        from.happened() && from <= state_.session.event_time() && job.waiting.in_class.exists();
    if (is_stranded == gang.is_stranded) return;
    gang.is_stranded = is_stranded;
    if (!is_stranded) {
        stranded_gangs_.erase({job.arrival, id});
        return;
    }
    stranded_gangs_.emplace(job.arrival, id);
    if (has_fault(SeededFault::wake_no_job_for_stranded_gangs)) return;
    state_.tree.note_gain(job.pool);
    state_.accounts.note_room_in_limits(job);
}

// The gang is whole again while its room was nominated for another job: ranks that are not evicted
// yet stay.
void Gangs::keep_whole_again(const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const bool was_left = pod.eviction.request.cause == EvictionCause::stranded;
        if (pod.eviction.state == EvictionState::postponed && was_left)
            state_.nominations.disappoint(pod);
    }
}

}  // namespace gpuctl
