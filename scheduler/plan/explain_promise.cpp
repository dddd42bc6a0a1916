// What the first in line is promised, and what that means for the others (reservation.hpp).

#include <algorithm>
#include <array>

#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl::explain_parts {

std::string span(Duration length) {
    struct Unit {
        std::int64_t ms;
        const char* name;
    };
    constexpr std::array<Unit, 4> units = {
        Unit{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}};
    const std::int64_t ms = std::max<std::int64_t>(length.ms(), 0);
    std::size_t first = 0;
    while (first + 1 < units.size() && ms < units[first].ms) ++first;
    const std::size_t last = std::min(first + 1, units.size() - 1);
    const std::int64_t smallest = units[last].ms;
    const std::int64_t rounded = (ms + smallest - 1) / smallest * smallest;
    std::string text;
    std::int64_t left = rounded;
    for (std::size_t i = first; i <= last; ++i) {
        const std::int64_t here = left / units[i].ms;
        left -= here * units[i].ms;
        if (here == 0 && !text.empty()) continue;
        if (here == 0 && i < last) continue;
        text += (text.empty() ? "" : " ") + std::to_string(here) + units[i].name;
    }
    return text;
}

void explain_short_work(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!out.empty() || !job.waits_in.exists()) return;
    const JobClass& waiting = state.book().at(job.waits_in);
    if ((waiting.block.watch & ClassBlock::kShortWork) == 0 || !state.is_blocked(waiting)) return;
    const PoolRow& pool = state.pool(job.pool);
    Explanation kept;
    kept.reason = Reason::short_work_first;
    kept.subject = pool.name;
    kept.figures = {{"short_percent", pool.backfill.short_percent},
                    {"short_run_time_ms", pool.backfill.short_run_time.ms()}};
    kept.sentence = std::to_string(pool.backfill.short_percent) + " % of pool " + pool.name +
                    " are kept for work of less than " + span(pool.backfill.short_run_time) +
                    ", and by its limit and the past jobs of its namespace it takes longer";
    kept.nodes_total = pool.nodes;
    out.push_back(std::move(kept));
}

namespace {

// Nobody knows when: what comes free on some nodes is kept for it.
void explain_kept(const ClusterState& state, JobId id, JobId first_in_line,
                  std::vector<Explanation>& out) {
    const JobRow& first = state.job(first_in_line);
    const Duration waited = state.now() - first.submitted_at;
    if (first_in_line == id) {
        if (out.empty()) return;
        out.front().figures.push_back({"waited_ms", waited.ms()});
        out.front().sentence += "; it came " + span(waited) +
                                " ago and is first in line: what comes free on the nodes where it "
                                "fits first is kept for it";
        return;
    }
    if (!out.empty()) return;
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = shown_name(first.key);
    held.figures = {{"waited_ms", waited.ms()}};
    held.sentence = "the room for it is kept for " + held.subject + ", which came " + span(waited) +
                    " ago and is first in line";
    held.nodes_total = state.pool(first.pool).nodes;
    out.push_back(std::move(held));
}

}  // namespace

void explain_promise(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    const Promise& promise = state.pool(job.pool).promise;
    if (!promise.job.exists()) return;
    if (!promise.at.happened()) return explain_kept(state, id, promise.job, out);
    const Duration until = std::max(promise.at - state.now(), Duration{});
    if (promise.job == id) {
        if (out.empty() || out.front().reason == Reason::reserved) return;
        out.front().figures.push_back({"promised_in_ms", until.ms()});
        out.front().sentence += "; it is first in line" + promised_bound(until);
        return;
    }
    if (!out.empty()) return;
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = shown_name(state.job(promise.job).key);
    held.figures = {{"promised_in_ms", until.ms()}, {"run_time_max_ms", job.run_time_max.ms()}};
    held.sentence = "the room for it is promised to " + held.subject + " in " + span(until) +
                    (job.run_time_max > Duration{}
                         ? " at the latest, and it may run for " + span(job.run_time_max)
                         : " at the latest, and it has no limit (maxRunTime) that ends before");
    held.nodes_total = state.pool(job.pool).nodes;
    out.push_back(std::move(held));
}

}  // namespace gpuctl::explain_parts

namespace gpuctl {

std::string promised_bound(Duration until) {
    return " and starts in " + explain_parts::span(until) +
           " at the latest, if what runs uses up its limits and no other comes to be first before";
}

}  // namespace gpuctl
