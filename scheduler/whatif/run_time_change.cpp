// A change by the job's owner alone, if time is short before a maintenance window, before the
// head-of-line reservation, or before the end of a budget period: a shorter run-time limit.

#include <algorithm>

#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::int64_t kMinute = 60'000, kHour = 60 * kMinute, kDay = 24 * kHour;
// longest limit that is tried for a job without a limit
constexpr std::int64_t kLongest = 28 * kDay;

// Counts limits that users would write: whole minutes up to a day, whole hours beyond.
std::int64_t steps_up_to(std::int64_t ms) {
    return ms < kDay ? ms / kMinute : kDay / kMinute + (ms - kDay) / kHour;
}
Duration limit_at(std::int64_t step) {
    const std::int64_t beyond = std::max<std::int64_t>(step - kDay / kMinute, 0);
    return Duration{(step - beyond) * kMinute + beyond * kHour};
}

}  // namespace

std::optional<Remedy> try_shorter_run_time(Question& question) {
    const JobRow& job = question.job();
    if (!question.waits_whole()) return std::nullopt;
    // Services and notebooks have no run-time limit.
    if (job.record && job.record->spec.kind != JobKind::training) return std::nullopt;
    const bool has_one = job.run.time_max > Duration{};
    const std::int64_t longest = has_one ? job.run.time_max.ms() - 1 : kLongest;
    // A limit below the stated run time of the job is never suggested.
    const std::int64_t shortest =
        std::max<std::int64_t>(steps_up_to(job.run.time_expected.ms() - 1) + 1, 1);
    const std::int64_t steps = steps_up_to(longest);
    const auto limit_with = [steps](std::int64_t fewer) { return limit_at(steps + 1 - fewer); };
    // The search runs over the number of steps fewer, because a shorter limit is easier to meet.
    const auto less = smallest(1, steps + 1 - shortest, [&](std::int64_t fewer) {
        const Duration limit = limit_with(fewer);
        return question.helps(
            recreate(question, {[=](PodFacts& pod) { pod.run_time_max = limit; },
                                [=](JobSpec& spec) { spec.run_time_max = limit; }}));
    });
    if (!less) return std::nullopt;
    const Duration limit = limit_with(*less);
    return with_stops(question, {ChangeKind::shorter_run_time, "", limit.ms() / 1'000,
                                 question.effect_of(change::ShorterRunTime{
                                     limit, job.run.time_max, static_cast<bool>(job.record)})});
}

}  // namespace gpuctl::whatif
