// Gangs that ran as a whole, lost ranks and find no room for them. What they hold does no work, and
// two of them may hold what each other needs: after a while jobs that fit there may have it
// (docs/adr/0027). Nobody is stopped for nothing: as long as no job fits, they keep it.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

Instant ClusterState::stranded_from(const JobRow& job) const {
    const bool counts = policy_.gang_repair_deadline > Duration{} && job.short_since.happened();
    if (!counts) return {};
    if (planted(PlantedBug::stop_short_gangs_at_once)) return job.short_since;
    return job.short_since + policy_.gang_repair_deadline;
}

// One that is not in line for its ranks waits for itself: they do not exist, or are gated. Its time
// begins when it is. Whoever was refused room then looks again.
void ClusterState::note_stranded(JobId id, const Readiness& ready) {
    JobRow& job = jobs_[id.value()];
    if (ready.resume && job.gang_started && !job.short_since.happened()) {
        const bool holds = std::any_of(job.pods.begin(), job.pods.end(), [this](PodId pod) {
            const PodRow& row = pods_[pod.value()];
            return row.standing == PodStanding::bound && !row.is_leaving() && !row.delete_in_flight;
        });
        if (holds && job.waits_in.exists()) job.short_since = now_;
    }
    const Instant from = stranded_from(job);
    const bool is_stranded = from.happened() && from <= now_ && job.waits_in.exists();
    if (is_stranded == job.is_stranded) return;
    job.is_stranded = is_stranded;
    if (!is_stranded) {
        stranded_gangs_.erase({job.arrival, id});
        return;
    }
    stranded_gangs_.emplace(job.arrival, id);
    if (planted(PlantedBug::tell_nobody_of_stranded_gangs)) return;
    note_gain(job.pool);
    note_room_in_limits(job);
}

// It found its ranks while others were to have what it held: who was not stopped by then stays.
void ClusterState::keep_whole_again(const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = pods_[id.value()];
        const bool was_left = pod.eviction_request.cause == EvictionCause::stranded;
        if (pod.eviction == Eviction::postponed && was_left) disappoint(pod);
    }
}

}  // namespace gpuctl
