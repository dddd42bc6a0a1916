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
    kept.facts = {fact::ShortJobsFirst{pool.backfill.short_percent, pool.name,
                                       pool.backfill.short_run_time, pool.backfill.patience}};
    kept.nodes_total = pool.nodes;
    out.push_back(std::move(kept));
}

// If the start time is unknown, what becomes free on some nodes is kept for the head.
void explain_head_reservation(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    const HeadReservation& head_reservation = state.pool(job.pool).reservations.head;
    if (!head_reservation.job.exists()) return;
    const JobRow& head = state.job(head_reservation.job);
    const bool has_time = head_reservation.at.happened();
    const Duration waited = state.now() - head.submitted_at;
    const Duration until = std::max(head_reservation.at - state.now(), Duration{});
    const Figure figure =
        has_time ? Figure{"reserved_in_ms", until.ms()} : Figure{"waited_ms", waited.ms()};
    if (head_reservation.job == id) {
        if (out.empty() || (has_time && out.front().reason == Reason::reserved)) return;
        out.front().figures.push_back(figure);
        out.front().facts.push_back(has_time ? Fact{fact::HasReservation{until}}
                                             : Fact{fact::HeadOfLine{waited}});
        return;
    }
    if (!out.empty()) return;
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = to_string(head.key);
    held.figures = {figure};
    if (has_time) {
        held.figures.push_back({"run_time_max_ms", job.run.time_max.ms()});
        held.facts = {fact::DelaysReservation{held.subject, until, job.run.time_max}};
    } else {
        held.facts = {fact::NodesKeptForHead{held.subject, waited}};
    }
    held.nodes_total = state.pool(job.pool).nodes;
    out.push_back(std::move(held));
}

}  // namespace gpuctl::explain_parts
