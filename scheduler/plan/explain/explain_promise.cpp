// Explains the reservation of the head of the line, and its effect on other jobs (reservation.hpp).

#include <algorithm>

#include "scheduler/plan/explain/explain_parts.hpp"

namespace gpuctl::explain_parts {

void explain_short_work(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!out.empty() || !job.waiting.in_class.exists()) return;
    const JobClass& waiting = state.waiting.book().at(job.waiting.in_class);
    if ((waiting.block.watch & ClassBlock::kShortWork) == 0 || !state.waiting.is_blocked(waiting))
        return;
    const PoolRow& pool = state.pool(job.pool);
    Explanation kept;
    kept.reason = Reason::short_work_first;
    kept.subject = pool.name;
    kept.figures = {{"short_percent", pool.backfill.short_percent},
                    {"short_run_time_ms", pool.backfill.short_run_time.ms()}};
    kept.facts = {
        fact::ShortJobsFirst{pool.backfill.short_percent, pool.name, pool.backfill.short_run_time}};
    kept.nodes_total = pool.nodes;
    out.push_back(std::move(kept));
}

namespace {

// The start time of the head is unknown: what becomes free on some nodes is kept for it.
void explain_kept(const ClusterState& state, JobId id, JobId first_in_line,
                  std::vector<Explanation>& out) {
    const JobRow& first = state.job(first_in_line);
    const Duration waited = state.now() - first.submitted_at;
    if (first_in_line == id) {
        if (out.empty()) return;
        out.front().figures.push_back({"waited_ms", waited.ms()});
        out.front().facts.push_back(fact::HeadOfLine{waited});
        return;
    }
    if (!out.empty()) return;
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = shown_name(first.key);
    held.figures = {{"waited_ms", waited.ms()}};
    held.facts = {fact::NodesKeptForHead{held.subject, waited}};
    held.nodes_total = state.pool(first.pool).nodes;
    out.push_back(std::move(held));
}

}  // namespace

void explain_promise(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    const HeadReservation& promise = state.pool(job.pool).reservations.head;
    if (!promise.job.exists()) return;
    if (!promise.at.happened()) return explain_kept(state, id, promise.job, out);
    const Duration until = std::max(promise.at - state.now(), Duration{});
    if (promise.job == id) {
        if (out.empty() || out.front().reason == Reason::reserved) return;
        out.front().figures.push_back({"promised_in_ms", until.ms()});
        out.front().facts.push_back(fact::HasReservation{until});
        return;
    }
    if (!out.empty()) return;
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = shown_name(state.job(promise.job).key);
    held.figures = {{"promised_in_ms", until.ms()}, {"run_time_max_ms", job.run.time_max.ms()}};
    held.facts = {fact::DelaysReservation{held.subject, until, job.run.time_max}};
    held.nodes_total = state.pool(job.pool).nodes;
    out.push_back(std::move(held));
}

}  // namespace gpuctl::explain_parts
