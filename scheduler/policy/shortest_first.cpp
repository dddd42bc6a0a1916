#include "scheduler/policy/shortest_first.hpp"

#include <algorithm>

#include "scheduler/base/log2.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/base/wide.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kRunsMost = 3;  // the newest runs of the owner
// run time of a job with neither a limit nor an expected run time
constexpr Duration kUnknown{86'400'000};

// Every `ageing` of waiting halves the cost. So a job that arrived later by that time counts
// double, and the order of two waiting jobs never changes with time alone.
std::int64_t waited_less(const ClusterState& state, const JobRow& job) {
    const Duration ageing = state.pool(job.pool).backfill.ageing;
    return times_ratio(job.submitted_at.ms(), kLog2One, std::max<std::int64_t>(ageing.ms(), 1));
}

}  // namespace

std::int64_t ShortestFirst::predict(const ClusterState& state, const JobRow& job) {
    const RunTimeQuestion about = state.run_times.question_about(job);
    runs_.clear();
    Duration said = about.limit > Duration{} ? about.limit : kUnknown;
    if (about.expected > Duration{}) {
        said = about.expected;
    } else {
        state.run_times.history().alike(about, kRunsMost, runs_);
    }
    std::int64_t sum = log2_of(said);
    for (const Duration run : runs_) sum += log2_of(run);
    return sum / static_cast<std::int64_t>(1 + runs_.size());
}

const ShortestFirst::Kept& ShortestFirst::look_up(const ClusterState& state, ClassId id) {
    if (kept_.size() <= id.value()) kept_.resize(id.value() + 1);
    Kept& kept = kept_[id.value()];
    const JobClass& of = state.waiting.book().at(id);
    const JobId job = of.jobs.begin()->job;
    const std::uint64_t revision = state.run_times.history().revision(of.key.tenant);
    const PreemptionPolicy& by = state.pool(state.queue(of.key.queue).pool).preemption;
    const JobRow& row = state.job(job);
    // The remaining work of a job decreases while some of its pods run and its other pods wait.
    const bool moves = row.holding.pods > 0;
    if (moves || kept.moves || kept.serial != of.serial || kept.revision != revision ||
        kept.job != job || kept.pods != row.pods.size() || kept.by != by) {
        const std::int64_t run_time = predict(state, row);
        std::int64_t score = run_time + waited_less(state, row);
        Duration left;
        if (state.run_times.stops_long_for_short(state.queue(row.queue))) {
            score = left_.of_waiting(state, row);
            if (by.mode != PreemptionMode::due) score += waited_less(state, row);
            left = state.run_times.stated_left(row);
        }
        kept = {of.serial, revision, job, row.pods.size(), by, moves, run_time, score, left};
    }
    return kept;
}

std::strong_ordering ShortestFirst::compare(const ClusterState& state, ClassId a, ClassId b,
                                            bool patience) {
    const JobClass& x = state.waiting.book().at(a);
    const JobClass& y = state.waiting.book().at(b);
    const PoolRow& pool = state.pool(state.queue(x.key.queue).pool);
    if (patience || pool.preemption.stops_by_run_time()) {
        const Duration limit = pool.backfill.patience;
        const auto is_aged = [&](const JobClass& of) {
            return state.now() - of.jobs.begin()->submitted_at >= limit;
        };
        if (is_aged(x) != is_aged(y)) {
            return is_aged(x) ? std::strong_ordering::less : std::strong_ordering::greater;
        }
        if (is_aged(x)) return std::strong_ordering::equal;  // then the older one precedes
    }
    const auto late = state.run_times.late_from(state.queue(x.key.queue).pool);
    if (late && !has_fault(SeededFault::long_jobs_begin_last)) {
        const Duration left_a = look_up(state, a).left;
        const Duration left_b = look_up(state, b).left;
        if (left_a >= *late || left_b >= *late) return left_b <=> left_a;
    }
    return score(state, a) <=> score(state, b);
}

}  // namespace gpuctl
