// Gangs that ran as a whole, lost ranks and find no room for them. What they hold does no work, and
// two of them may hold what each other needs: after a while jobs that fit there may have it
// (docs/adr/0027). As long as no job fits there, they keep it.

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

// One that is not in line for its ranks waits for itself: they do not exist, or are gated. Its time
// begins when it is. Jobs that were refused room are tried again then.
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

// It found its ranks while another job was to have its room: ranks not evicted by then stay.
void Gangs::keep_whole_again(const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const bool was_left = pod.eviction.request.cause == EvictionCause::stranded;
        if (pod.eviction.state == EvictionState::postponed && was_left)
            state_.nominations.disappoint(pod);
    }
}

}  // namespace gpuctl
