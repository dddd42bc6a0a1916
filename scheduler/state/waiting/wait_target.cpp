#include "scheduler/state/waiting/wait_target.hpp"

#include "scheduler/base/planted.hpp"

namespace gpuctl {

std::optional<WaitTarget> wait_target_of(const ClusterState& state, const JobRow& job) {
    if (job.holding.pods > 0 || !job.pool.exists() || !job.queue.exists()) return std::nullopt;
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    const bool has_one = policy.wait_target > Duration{} && job.priority < kSystemPriority &&
                         policy.mode == PreemptionMode::shortest &&
                         state.run_times.stops_long_for_short(state.queue(job.queue));
    if (!has_one) return std::nullopt;
    const Instant came = job.submitted_at + state.run_times.progress_of(job);
    const Duration near{policy.wait_target.ms() - policy.wait_target.ms() / 5};
    return WaitTarget{came + near, came + policy.wait_target};
}

bool nears_wait_target(const ClusterState& state, const JobRow& job) {
    if (job.holding.pods > 0) return job.run.nears_wait_target;
    const std::optional<WaitTarget> target = wait_target_of(state, job);
    if (!target || target->near_from > state.now()) return false;
    return state.now() < target->missed_from || planted(PlantedBug::hurry_who_missed_the_target);
}

}  // namespace gpuctl
