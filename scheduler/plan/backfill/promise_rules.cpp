#include "scheduler/plan/backfill/promise_rules.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl {

bool has_waited_for_long(const ClusterState& state, const JobRow& job) {
    const Duration after = state.pool(job.pool).backfill.keep_after;
    if (planted(PlantedBug::keep_room_at_once)) return true;
    return after > Duration{} && state.now() - job.submitted_at >= after;
}

bool ends_some_day(const PodRow& pod) {
    const bool runs = pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
    if (!runs || !pod.job.exists() || pod.ends_at.happened()) return false;
    return pod.facts.runs_to_end || planted(PlantedBug::keep_behind_services);
}

Instant began_at(const PodRow& pod) {
    return pod.bind.placed_at.happened() ? pod.bind.placed_at : pod.seen_at;
}

Instant claimed_end(const ClusterState& state, const PodRow& pod) {
    const JobRow& job = state.job(pod.job);
    if (job.run.time_max <= Duration{}) return {};
    return job.nomination.until + job.run.time_max;
}

Ends::Ends(const ClusterState& state) : runs_(state.run_times.ends()), next_(runs_.begin()) {
    for (const JobId id : state.nominations.claims()) {
        for (const PodId pod : state.job(id).pods) {
            if (state.pod(pod).bind.state != BindState::claimed) continue;
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
