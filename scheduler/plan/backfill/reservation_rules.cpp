#include "scheduler/plan/backfill/reservation_rules.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

bool has_waited_for_long(const ClusterState& state, const JobRow& job) {
    const Duration after = state.pool(job.pool).backfill.keep_after;
    if (has_fault(SeededFault::keep_room_at_once)) return true;
    return after > Duration{} && state.now() - job.submitted_at >= after;
}

bool ends_some_day(const PodRow& pod) {
    const bool runs = pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
    if (!runs || !pod.job.exists() || pod.ends_at.happened()) return false;
    return pod.facts.runs_to_end || has_fault(SeededFault::keep_behind_services);
}

Instant began_at(const PodRow& pod) {
    return pod.bind.placed_at.happened() ? pod.bind.placed_at : pod.seen_at;
}

Instant nominated_end(const ClusterState& state, const PodRow& pod) {
    const JobRow& job = state.job(pod.job);
    if (job.run.time_max <= Duration{}) return {};
    return job.nomination.until + job.run.time_max;
}

Ends::Ends(const ClusterState& state) : runs_(state.run_times.ends()), next_(runs_.begin()) {
    for (const JobId id : state.nominations.nominated_jobs()) {
        for (const PodId pod : state.job(id).pods) {
            if (state.pod(pod).bind.state != BindState::nominated) continue;
            const Instant end = nominated_end(state, state.pod(pod));
            if (end.happened()) nominated_.emplace_back(end, pod);
        }
    }
    std::sort(nominated_.begin(), nominated_.end());
}

bool is_over_by(Instant time, Instant start, Duration limit) {
    if (has_fault(SeededFault::ignore_head_reservations)) return true;
    if (limit == Duration{} && has_fault(SeededFault::backfill_without_limit)) return true;
    return limit > Duration{} && start + limit <= time;
}

}  // namespace gpuctl
