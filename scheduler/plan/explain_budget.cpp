// Which budget stops a job: what was used and is committed of it, what the job needs, and when more
// of it comes.

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl::explain_parts {
namespace {

// How its numbers are told: to the nearest, unless they would seem to fit then.
struct Told {
    RoundHours against = RoundHours::nearest;
    RoundHours of = RoundHours::nearest;

    Told(const Budget& budget, GpuTime used, GpuTime committed, GpuTime needed) {
        constexpr auto nearest = RoundHours::nearest;
        const GpuTime seems = as_told(used, nearest) + as_told(committed, nearest) +
                              as_told(needed, nearest) - as_told(budget.policy.amount, nearest) -
                              as_told(budget.spending.carried(), nearest);
        if (seems > GpuTime{}) return;
        against = RoundHours::up;
        of = RoundHours::down;
    }
    [[nodiscard]] std::string counted(GpuTime time) const {
        return format_gpu_hours(time, against);
    }
};

// "500 GPU-hours", "500 GPU-hours (20 carried over)", "500 GPU-hours (12.5 overdrawn before)"
std::string allowed(const Budget& budget, const Told& told) {
    const GpuTime carried = budget.spending.carried();
    std::string text = format_gpu_hours(budget.policy.amount, told.of) + " GPU-hours";
    if (carried > GpuTime{}) {
        text += " (and " + format_gpu_hours(carried, told.of) + " carried over)";
    }
    if (carried < GpuTime{}) {
        text += " (less " + told.counted(GpuTime{} - carried) + " overdrawn before)";
    }
    return text;
}

// "it needs 24 for the 3h that it may run"
std::string needs(const JobRow& job, const LimitHit& hit, Duration left, const Told& told) {
    const std::string text = "it needs " + told.counted(GpuTime{hit.needed}) + " for the ";
    if (job.run_time_max > Duration{} && job.run_time_max <= left) {
        return text + span(job.run_time_max) + " that it may run (maxRunTime)";
    }
    const std::string rest = text + span(left) + " until the period ends";
    return job.run_time_max > Duration{} ? rest : rest + ", having no limit (maxRunTime)";
}

}  // namespace

Explanation explain_budget(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const bool is_of_queue = hit.kind == LimitKind::queue_budget;
    const Budget& budget = state.budgets().of(job, hit);
    const Spending& spending = budget.spending;
    const Instant now = state.now();
    const GpuTime used = spending.used(now);
    const GpuTime committed = spending.committed(now);
    const Duration left = spending.period().end - now;
    const Instant from = state.budgets().suffices_from(job, hit, now);
    const Told told{budget, used, committed, GpuTime{hit.needed}};
    Explanation out;
    out.reason = Reason::budget_spent;
    out.subject = is_of_queue ? state.queue_path(hit.queue) : state.tenant(job.tenant).name;
    out.sentence = (is_of_queue ? "queue " : "namespace ") + out.subject +
                   (is_of_queue ? " of pool " : " in pool ") + state.pool(job.pool).name +
                   " has used " + told.counted(used) + " of " + allowed(budget, told) + " " +
                   period_in_words(budget.policy, spending.period());
    if (committed > GpuTime{}) {
        out.sentence += ", and " + told.counted(committed) + " are committed to what runs";
    }
    out.sentence += "; " + needs(job, hit, left, told) + "; ";
    if (from < spending.period().end) {
        out.sentence +=
            "what is left is enough for the rest of the period from " + format_utc(from) + " on; ";
    }
    out.sentence += "the next period begins " + format_utc(spending.period().end);
    out.figures = {{"gpu_time_limit", hit.limit},
                   {"gpu_time_used", used.value()},
                   {"gpu_time_committed", committed.value()},
                   {"gpu_time_needed", hit.needed},
                   {"enough_in_ms", (from - now).ms()},
                   {"period_ends_in_ms", left.ms()}};
    return out;
}

}  // namespace gpuctl::explain_parts
