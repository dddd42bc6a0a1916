#include "scheduler/policy/work_left.hpp"

#include <algorithm>

#include "scheduler/base/log2.hpp"
#include "scheduler/base/planted.hpp"

namespace gpuctl {
namespace {

constexpr Duration kShortest{10'000};  // below, nobody feels a difference
constexpr std::size_t kRunsMost = RunTimeHistory::kRunsPerOwner;

// What must be done to see one more of them end, at the best moment to stop looking: the least,
// over all spans, of the time spent within it on each for one that ends. Of runs sorted by length.
// With nothing to go by, a run lasts as long again as it did.
Duration least_per_end(const std::vector<Duration>& runs, Duration done) {
    const auto first = std::upper_bound(runs.begin(), runs.end(), done);
    if (first == runs.end()) return done;
    const auto all = runs.end() - first;
    std::int64_t sum = 0;
    std::int64_t least = INT64_MAX;
    for (auto run = first; run != runs.end(); ++run) {
        const std::int64_t span = (*run - done).ms();
        const auto ended = run - first + 1;
        sum += span;
        least = std::min(least, (sum + (all - ended) * span) / ended);
    }
    return Duration{least};
}

}  // namespace

std::int64_t size_log2(const PreemptionPolicy& policy, Duration time, GpuMilli gpus) {
    const auto ms = static_cast<std::uint64_t>(std::max(time, kShortest).ms());
    const auto milli = static_cast<std::uint64_t>(std::max<std::int64_t>(gpus.value(), 1));
    return log2_fixed(ms) + log2_fixed(milli) * policy.gpu_exponent_percent / 100;
}

Duration WorkLeft::time_left(const ClusterState& state, const RunTimeQuestion& about,
                             Duration done) {
    if (about.expected > Duration{}) {
        // Late by so much, it will take as long again: nobody knows better.
        return done < about.expected ? about.expected - done : done - about.expected;
    }
    state.history().alike(about, kRunsMost, runs_);
    std::sort(runs_.begin(), runs_.end());
    const Duration likely = least_per_end(runs_, done);
    return about.limit > done ? std::min(likely, about.limit - done) : likely;
}

// The time that it needs alone counts in the steps of classes: alike are due alike.
std::int64_t WorkLeft::due_ms(const ClusterState& state, const JobRow& job) {
    const RunTimeQuestion about = state.question_about(job);
    const Duration done = state.progress_of(job);
    const Duration whole = about.expected > Duration{} ? ClusterState::rounded_up(about.expected)
                                                       : done + time_left(state, about, done);
    const std::int64_t percent = state.pool(job.pool).preemption.slowdown_percent;
    const Instant came = planted(PlantedBug::due_by_length_alone) ? Instant{} : job.submitted_at;
    return came.ms() + whole.ms() / 100 * percent;
}

Duration WorkLeft::goes_on_for(const ClusterState& state, const JobRow& job) {
    const auto late = state.late_from(job.pool);
    if (!late || job.run_time_expected <= Duration{}) return {};
    const Duration left = job.run_time_expected - state.progress_of(job);
    const Duration restart = state.pod(job.pods.front()).facts.restart_cost;
    if (left <= Duration{}) return {};
    const Duration spare = left + restart * 4 - Duration{late->ms() / 64 * 63};
    if (spare < Duration{}) return {};
    return std::max(spare, Duration{left.ms() / 64}) + Duration{1};  // no need to look more often
}

// While all GPUs are busy, what all need falls as time passes, and what is left of it does not.
std::optional<Instant> WorkLeft::begin_by(const ClusterState& state, const JobRow& job) {
    const auto late = state.late_from(job.pool);
    const Duration left = job.run_time_expected - state.progress_of(job);
    if (!late || left <= Duration{}) return std::nullopt;
    if (left >= *late) return state.now();
    const std::int64_t percent = state.pool(job.pool).preemption.makespan_percent;
    return state.now() + Duration{(*late - left).ms() / std::max<std::int64_t>(percent, 1) * 100};
}

std::int64_t WorkLeft::of_running(const ClusterState& state, const JobRow& job, Duration cost) {
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    if (policy.mode == PreemptionMode::due) return due_ms(state, job) - cost.ms();
    const RunTimeQuestion about = state.question_about(job);
    const Duration left = time_left(state, about, state.progress_of(job));
    return size_log2(policy, left - cost, about.gpus);
}

std::int64_t WorkLeft::of_waiting(const ClusterState& state, const JobRow& job) {
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    if (policy.mode == PreemptionMode::due) return due_ms(state, job);
    const RunTimeQuestion about = state.question_about(job);
    Duration time = time_left(state, about, state.progress_of(job));
    if (about.expected > Duration{}) time = ClusterState::rounded_up(time);
    return size_log2(policy, time, about.gpus);
}

}  // namespace gpuctl
