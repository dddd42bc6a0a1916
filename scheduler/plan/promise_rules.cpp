#include "scheduler/plan/promise_rules.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl {

bool has_waited_for_long(const ClusterState& state, const JobRow& job) {
    const Duration after = state.pool(job.pool).backfill.keep_after;
    if (planted(PlantedBug::keep_room_at_once)) return true;
    return after > Duration{} && state.now() - job.submitted_at >= after;
}

bool ends_some_day(const PodRow& pod) {
    const bool runs = pod.standing == PodStanding::bound || pod.standing == PodStanding::assumed;
    if (!runs || !pod.job.exists() || pod.ends_at.happened()) return false;
    return pod.facts.runs_to_end || planted(PlantedBug::keep_behind_services);
}

Instant began_at(const PodRow& pod) {
    return pod.placed_at.happened() ? pod.placed_at : pod.seen_at;
}

Instant claimed_end(const ClusterState& state, const PodRow& pod) {
    const JobRow& job = state.job(pod.job);
    if (job.run_time_max <= Duration{}) return {};
    return job.claim_until + job.run_time_max;
}

Ends::Ends(const ClusterState& state) : runs_(state.ends()), next_(runs_.begin()) {
    for (const JobId id : state.claims()) {
        for (const PodId pod : state.job(id).pods) {
            if (state.pod(pod).standing != PodStanding::claimed) continue;
            const Instant end = claimed_end(state, state.pod(pod));
            if (end.happened()) claimed_.emplace_back(end, pod);
        }
    }
    std::sort(claimed_.begin(), claimed_.end());
}

bool is_over_by(Instant moment, Instant start, Duration limit) {
    if (planted(PlantedBug::ignore_promises)) return true;
    if (limit == Duration{} && planted(PlantedBug::promise_without_limit)) return true;
    return limit > Duration{} && start + limit <= moment;
}

}  // namespace gpuctl
