#include "scheduler/policy/run_time_curve.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 24;
// Ten years, so that sums of weights times lengths stay within 63 bits.
constexpr Duration kLongest{std::int64_t{10} * 365 * 24 * 3'600 * 1'000};

}  // namespace

void RunTimeCurve::read(std::vector<Duration>& ended, std::vector<Duration>& unfinished) {
    std::sort(ended.begin(), ended.end());
    std::sort(unfinished.begin(), unfinished.end());
    steps_.clear();
    steps_.reserve(ended.size());
    std::int64_t at_risk = std::ssize(ended) + std::ssize(unfinished);
    std::int64_t surviving = kAll;
    Step sum;
    auto left = unfinished.begin();
    for (const Duration one : ended) {
        // An unfinished job that has run for exactly this long counts as observed up to this
        // length.
        for (; left != unfinished.end() && *left < one; ++left) --at_risk;
        sum.length = std::min(one, kLongest);
        const std::int64_t mass = surviving / at_risk--;
        surviving -= mass;
        sum.mass += mass;
        sum.mass_time += mass * sum.length.ms();
        steps_.push_back(sum);
    }
}

Duration RunTimeCurve::least_per_end(Duration done) const {
    const auto first =
        std::upper_bound(steps_.begin(), steps_.end(), done,
                         [](Duration value, const Step& step) { return value < step.length; });
    if (first == steps_.end()) return done;
    const Step before = first == steps_.begin() ? Step{} : *(first - 1);
    const std::int64_t all = kAll - before.mass;
    std::int64_t least = INT64_MAX;
    for (auto step = first; step != steps_.end(); ++step) {
        const std::int64_t end = step->mass - before.mass;
        if (end == 0) continue;
        const std::int64_t spent_by_those = step->mass_time - before.mass_time - end * done.ms();
        const std::int64_t span = (step->length - done).ms();
        least = std::min(least, (spent_by_those + (all - end) * span) / end);
    }
    return least == INT64_MAX ? done : Duration{least};
}

}  // namespace gpuctl
