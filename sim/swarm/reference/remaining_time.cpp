#include "sim/swarm/reference/remaining_time.hpp"

#include <algorithm>
#include <vector>

#include "scheduler/base/log2.hpp"

namespace gpuctl::sim {
namespace {

constexpr std::int64_t kAllRuns = std::int64_t{1} << 24;  // a part of all runs is in 2^-24ths
constexpr std::size_t kRunsEnough = 32;  // enough similar runs to ignore the owner's other runs
constexpr Duration kLongest{std::int64_t{10} * 365 * 24 * 3'600 * 1'000};
constexpr Duration kShortest{10'000};  // shorter remaining times count as equal

struct Sample {
    std::vector<Duration> ended;
    std::vector<Duration> unfinished;  // how long each has run without an end so far
};

enum class Alike { same_job, same_size, any };

// The owner's similar runs, and its preempted, unfinished jobs.
Sample sample(const ClusterState& state, const RunTimeQuestion& about, Alike alike) {
    const auto counts = [&](GpuMilli gpus, Duration limit) {
        return alike == Alike::any ||
               (gpus == about.gpus && (alike == Alike::same_size || limit == about.limit));
    };
    Sample out;
    const auto& owners = state.run_times.history().owners();
    if (about.owner.value() >= owners.size()) return out;
    for (const FinishedRun& run : owners[about.owner.value()].runs) {
        if (!counts(run.gpus, run.limit)) continue;
        out.ended.push_back(about.limit > Duration{} ? std::min(run.lasted, about.limit)
                                                     : run.lasted);
    }
    for (const auto& [key, stopped] : state.evictions.churn()) {
        const bool is_owners = key.namespace_name == state.tenant(about.owner).name;
        if (!is_owners || stopped.done <= Duration{}) continue;
        if (counts(stopped.gpus, stopped.limit)) out.unfinished.push_back(stopped.done);
    }
    return out;
}

Sample closest_sample(const ClusterState& state, const RunTimeQuestion& about) {
    for (const Alike alike : {Alike::same_job, Alike::same_size}) {
        Sample found = sample(state, about, alike);
        if (found.ended.size() >= kRunsEnough) return found;
    }
    return sample(state, about, Alike::any);
}

struct Ending {
    Duration length;
    std::int64_t part = 0;  // of all runs
};

// Kaplan-Meier estimate: the probability of each run length, with unfinished runs as censored.
std::vector<Ending> endings(Sample runs) {
    std::sort(runs.ended.begin(), runs.ended.end());
    std::vector<Ending> out;
    std::int64_t surviving = kAllRuns;
    for (std::size_t i = 0; i < runs.ended.size(); ++i) {
        const Duration length = runs.ended[i];
        std::int64_t at_risk = std::ssize(runs.ended) - static_cast<std::int64_t>(i);
        at_risk += std::count_if(runs.unfinished.begin(), runs.unfinished.end(),
                                 [&](Duration other) { return other >= length; });
        const std::int64_t part = surviving / at_risk;
        surviving -= part;
        out.push_back({std::min(length, kLongest), part});
    }
    return out;
}

// Gittins index: the minimum over all stopping times of expected time spent per completion. If no
// run has lasted that long, the job is expected to run as long again.
Duration least_time_per_end(const std::vector<Ending>& endings, Duration done) {
    std::int64_t not_yet = kAllRuns;
    for (const Ending& one : endings) {
        if (one.length <= done) not_yet -= one.part;
    }
    std::int64_t least = INT64_MAX;
    for (const Ending& stop : endings) {
        if (stop.length <= done) continue;
        std::int64_t ends = 0;
        std::int64_t spent = 0;
        for (const Ending& one : endings) {
            if (one.length <= done || one.length > stop.length) continue;
            ends += one.part;
            spent += one.part * (one.length - done).ms();
        }
        if (ends == 0) continue;
        spent += (not_yet - ends) * (stop.length - done).ms();
        least = std::min(least, spent / ends);
    }
    return least == INT64_MAX ? done : Duration{least};
}

// Rounds to the next eighth of the largest power of two that is not larger.
Duration rounded_to_step(Duration time) {
    const std::int64_t ms = std::max<std::int64_t>(time.ms(), 1);
    std::int64_t power = 1;
    while (power <= ms / 2) power *= 2;
    const std::int64_t step = std::max<std::int64_t>(power / 8, 1);
    return Duration{(ms + step - 1) / step * step};
}

// Time times GPUs to the pool's exponent, as a logarithm to base 2 in 65536ths. A job that nears
// the wait target counts as an eighth of that.
std::int64_t remaining_size(const ClusterState& state, const PreemptionPolicy& policy,
                            const JobRow& job, Duration time) {
    const std::int64_t ms = std::max(time, kShortest).ms();
    const std::int64_t milli =
        std::max<std::int64_t>(state.run_times.question_about(job).gpus.value(), 1);
    return log2_fixed(static_cast<std::uint64_t>(ms)) +
           log2_fixed(static_cast<std::uint64_t>(milli)) * policy.gpu_exponent_percent / 100 -
           (job.run.nears_wait_target ? 3 * 65'536 : 0);
}

}  // namespace

Duration remaining_time(const ClusterState& state, const JobRow& job) {
    const RunTimeQuestion about = state.run_times.question_about(job);
    const Duration done = state.run_times.progress_of(job);
    if (about.expected > done) return about.expected - done;
    if (about.expected > Duration{}) return done - about.expected;  // overdue: as long again
    const Duration likely = least_time_per_end(endings(closest_sample(state, about)), done);
    return about.limit > done ? std::min(likely, about.limit - done) : likely;
}

std::int64_t running_size(const ClusterState& state, const PreemptionPolicy& policy,
                          const JobRow& job, Duration lost) {
    return remaining_size(state, policy, job, remaining_time(state, job) - lost);
}

std::int64_t waiting_size(const ClusterState& state, const PreemptionPolicy& policy,
                          const JobRow& job) {
    Duration time = remaining_time(state, job);
    if (job.run.time_expected > Duration{}) time = rounded_to_step(time);
    return remaining_size(state, policy, job, time);
}

}  // namespace gpuctl::sim
