// Explains the budget that blocks a job: its used and committed amounts, the need of the job, and
// when the next period adds to it.

#include "scheduler/plan/explain/explain_parts.hpp"

namespace gpuctl::explain_parts {

Explanation explain_budget(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const bool is_of_queue = hit.queue.exists();
    const Budget& budget = state.accounts.budgets().of(job, hit);
    const Spending& spending = budget.spending;
    const Instant now = state.now();
    const GpuTime used = spending.used(now);
    const GpuTime committed = spending.committed(now);
    const Duration left = spending.period().end - now;
    const Instant from = state.accounts.budgets().suffices_from(job, hit, now);
    Explanation out;
    out.reason = Reason::budget_spent;
    out.subject = is_of_queue ? state.tree.queue_path(hit.queue) : state.tenant(job.tenant).name;
    out.facts = {fact::BudgetSpent{.holder = limit_holder(state, job, hit),
                                   .budget = budget.policy,
                                   .period_begin = spending.period().begin,
                                   .period_end = spending.period().end,
                                   .carried = spending.carried(),
                                   .used = used,
                                   .committed = committed,
                                   .needed = GpuTime{hit.needed},
                                   .run_time_max = job.run.time_max,
                                   .period_left = left,
                                   .enough_from = from}};
    out.figures = {{"gpu_time_limit", hit.limit},
                   {"gpu_time_used", used.value()},
                   {"gpu_time_committed", committed.value()},
                   {"gpu_time_needed", hit.needed},
                   {"enough_in_ms", (from - now).ms()},
                   {"period_ends_in_ms", left.ms()}};
    return out;
}

}  // namespace gpuctl::explain_parts
