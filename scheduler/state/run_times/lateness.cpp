#include "scheduler/state/run_times/lateness.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

std::int64_t allowed_ms(const ClusterState& state, const JobRow& job, Duration whole) {
    const std::int64_t percent = state.pool(job.pool).preemption.slowdown_percent;
    return (whole.ms() / 100 * percent) << static_cast<unsigned>(job.run.lateness.doublings);
}

Lateness lateness_of(const ClusterState& state, const JobRow& job) {
    constexpr std::int32_t kDoublingsMost = 16;
    if (state.run_times.preemption_of(job) != PreemptionMode::due) return {};
    if (job.run.time_expected <= Duration{} || has_fault(SeededFault::late_work_first)) return {};
    if (job.holding.pods > 0) return {job.run.lateness.doublings, Instant{}};
    const Duration left = as_long_again(state.run_times.stated_left(job));
    const std::int64_t percent = state.pool(job.pool).preemption.slowdown_percent;
    std::int64_t may_take = WaitingJobs::rounded_up(job.run.time_expected).ms() / 100 * percent;
    const auto begin_by = [&] { return job.submitted_at + (Duration{may_take / 2 * 3} - left); };
    Lateness out;
    for (; begin_by() < state.now() && out.doublings < kDoublingsMost; ++out.doublings) {
        may_take *= 2;
    }
    if (begin_by() >= state.now()) out.again_at = begin_by() + Duration{1};
    return out;
}

}  // namespace gpuctl
