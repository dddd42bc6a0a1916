#include "scheduler/state/waiting/wait_target.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

std::optional<WaitTarget> wait_target_of(const ClusterState& state, const JobRow& job) {
    if (job.holding.pods > 0 || state.run_times.preemption_of(job) != PreemptionMode::shortest)
        return std::nullopt;
    const Duration target = state.pool(job.pool).preemption.wait_target;
    if (target <= Duration{}) return std::nullopt;
    const Instant came = job.submitted_at + state.run_times.progress_of(job);
    return WaitTarget{came + Duration{target.ms() - target.ms() / 5}, came + target};
}

bool nears_wait_target(const ClusterState& state, const JobRow& job) {
    if (job.holding.pods > 0) return job.run.nears_wait_target;
    const std::optional<WaitTarget> target = wait_target_of(state, job);
    if (!target || target->near_from > state.now()) return false;
    return state.now() < target->missed_from || has_fault(SeededFault::hurry_jobs_past_the_target);
}

}  // namespace gpuctl
