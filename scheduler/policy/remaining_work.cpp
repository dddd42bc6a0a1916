#include "scheduler/policy/remaining_work.hpp"

#include <algorithm>

#include "scheduler/base/log2.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {
namespace {

// This many runs of the same size or kind are a better sample than all runs of the owner.
constexpr std::size_t kAlikeEnough = 32;
constexpr std::size_t kCurvesMost = 256;

// Reads the progress of preempted unfinished jobs of the owner that are as similar. It changes with
// the revision of the history.
void read_unfinished(const ClusterState& state, const RunTimeQuestion& about, RunTimeBasis basis,
                     std::vector<Duration>& out) {
    const std::string& owner = state.tenant(about.owner).name;
    const auto& jobs = state.evictions.churn();
    for (auto one = jobs.lower_bound({owner, ""});
         one != jobs.end() && one->first.namespace_name == owner; ++one) {
        const Churn& churn = one->second;
        if (churn.done > Duration{} && is_alike(basis, about, churn.gpus, churn.limit))
            out.push_back(churn.done);
    }
}

}  // namespace

std::int64_t log2_of(Duration time) {
    return log2_fixed(static_cast<std::uint64_t>(std::max(time, kShortestFelt).ms()));
}

Duration RemainingWork::remaining_time(const ClusterState& state, const JobRow& job) {
    const RunTimeQuestion about = state.run_times.question_about(job);
    const Duration done = state.run_times.progress_of(job);
    if (about.expected > Duration{}) return as_long_again(about.expected - done);
    const Duration likely = curve_of(state, about).least_per_end(done);
    return about.limit > done ? std::min(likely, about.limit - done) : likely;
}

const RunTimeCurve& RemainingWork::curve_of(const ClusterState& state,
                                            const RunTimeQuestion& about) {
    if (curves_.size() > kCurvesMost) curves_.clear();
    Kept& kept = curves_[{about.owner, about.gpus, about.limit}];
    const std::uint64_t revision = state.run_times.history().revision(about.owner);
    if (kept.revision == revision) return kept.curve;
    const RunTimeBasis basis = state.run_times.history().sample(about, kAlikeEnough, runs_);
    unfinished_.clear();
    if (!runs_.empty()) read_unfinished(state, about, basis, unfinished_);
    kept.curve.read(runs_, unfinished_);
    kept.revision = revision;
    return kept.curve;
}

// The run time is rounded to the steps that distinguish classes, so that equal jobs have equal due
// times.
std::int64_t RemainingWork::due_ms(const ClusterState& state, const JobRow& job) {
    const Duration whole = job.run.time_expected > Duration{}
                               ? WaitingJobs::rounded_up(job.run.time_expected)
                               : state.run_times.progress_of(job) + remaining_time(state, job);
    const Instant came = has_fault(SeededFault::due_by_length_alone) ? Instant{} : job.submitted_at;
    return came.ms() + allowed_ms(state, job, whole);
}

Duration RemainingWork::goes_on_for(const ClusterState& state, const JobRow& job) {
    const auto late = state.run_times.late_from(job.pool);
    if (!late || job.run.time_expected <= Duration{}) return {};
    const Duration left = state.run_times.stated_left(job);
    const Duration restart = state.pod(job.pods.front()).facts.restart_cost;
    if (left <= Duration{}) return {};
    const Duration spare = left + restart * 4 - Duration{late->ms() / 64 * 63};
    if (spare < Duration{}) return {};
    // more frequent checks are not needed
    return std::max(spare, Duration{left.ms() / 64}) + Duration{1};
}

// While all GPUs are busy, the total remaining work falls as time passes, and the remaining work of
// a waiting job does not.
std::optional<Instant> RemainingWork::begin_by(const ClusterState& state, const JobRow& job) {
    const auto late = state.run_times.late_from(job.pool);
    const Duration left = state.run_times.stated_left(job);
    if (!late || left <= Duration{}) return std::nullopt;
    if (left >= *late) return state.now();
    const std::int64_t percent = state.pool(job.pool).preemption.makespan_percent;
    return state.now() + Duration{(*late - left).ms() / std::max<std::int64_t>(percent, 1) * 100};
}

std::int64_t RemainingWork::key(const ClusterState& state, const JobRow& job, Duration cost,
                                bool is_rounded) {
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    if (policy.mode == PreemptionMode::due) return due_ms(state, job) - cost.ms();
    Duration time = remaining_time(state, job);
    if (is_rounded && job.run.time_expected > Duration{}) time = WaitingJobs::rounded_up(time);
    const std::int64_t gpus = state.run_times.question_about(job).gpus.value();
    const std::int64_t gpus_log2 =
        log2_fixed(static_cast<std::uint64_t>(std::max<std::int64_t>(gpus, 1)));
    const std::int64_t hurry = job.run.nears_wait_target ? kNearTargetLog2 * kLog2One : 0;
    return log2_of(time - cost) + gpus_log2 * policy.gpu_exponent_percent / 100 - hurry;
}

}  // namespace gpuctl
