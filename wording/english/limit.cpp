// The limit or budget that stops a job: its holder, the amount in use, the amount requested and, of
// a budget, the time from which it suffices.

#include "scheduler/model/amount_text.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

// "12 of 16 GPUs", "2 of 4 A100 GPUs", "3 of 8 CPU"
std::string held_of_limit(const fact::LimitReached& fact) {
    return amounts::limit_amount(fact.unit, fact.held) + " of " +
           (fact.model.empty() ? amounts::limit_amount_noun(fact.unit, fact.limit)
                               : amounts::gpus(fact.limit) + " " + fact.model + " GPUs");
}

std::string arithmetic(const fact::LimitReached& fact) {
    const std::string held = held_of_limit(fact);
    switch (fact.rule) {
        case fact::LimitRule::maximum:
            return held + " in use (maximum)";
        case fact::LimitRule::guarantee_and_borrowing:
            return held + " in use (guarantee and borrowing limit)";
        case fact::LimitRule::reserved_for_siblings:
            return held + " in use or reserved for other sub-queues (maximum)";
        case fact::LimitRule::jobs_at_once:
            return held + " running (maxJobs)";
        case fact::LimitRule::gpus_per_job:
            return held + " in use by this job (maxGpuPerJob)";
        case fact::LimitRule::reserved_for_growth:
            return held + " in use (the rest is reserved for services and growing elastic jobs)";
        case fact::LimitRule::reserved_for_queues:
            return held + " in use or reserved for queues that do not lend them";
        case fact::LimitRule::tenant_maximum:
            return held + " in use (maximum)";
        case fact::LimitRule::pool_quota:
            return held + " in use (quota)";
    }
    return "";
}

// Rounding of the numbers of a budget: to nearest, unless the rounded numbers would seem to fit.
struct Rounding {
    RoundHours against = RoundHours::nearest;
    RoundHours of = RoundHours::nearest;

    explicit Rounding(const fact::BudgetSpent& fact) {
        constexpr auto nearest = RoundHours::nearest;
        const GpuTime seems = as_shown(fact.used, nearest) + as_shown(fact.committed, nearest) +
                              as_shown(fact.needed, nearest) -
                              as_shown(fact.budget.amount, nearest) -
                              as_shown(fact.carried, nearest);
        if (seems > GpuTime{}) return;
        against = RoundHours::up;
        of = RoundHours::down;
    }
    [[nodiscard]] std::string counted(GpuTime time) const {
        return format_gpu_hours(time, against);
    }
};

// "500 GPU-hours", "500 GPU-hours (plus 20 carried over)"
std::string allowed(const fact::BudgetSpent& fact, const Rounding& rounding) {
    std::string text = format_gpu_hours(fact.budget.amount, rounding.of) + " GPU-hours";
    if (fact.carried > GpuTime{}) {
        text += " (plus " + format_gpu_hours(fact.carried, rounding.of) + " carried over)";
    }
    if (fact.carried < GpuTime{}) {
        text += " (minus " + rounding.counted(GpuTime{} - fact.carried) + " overdrawn before)";
    }
    return text;
}

// "24 requested for up to 3h (maxRunTime)"
std::string needed(const fact::BudgetSpent& fact, const Rounding& rounding) {
    const std::string text = rounding.counted(fact.needed) + " requested for ";
    if (fact.run_time_max > Duration{} && fact.run_time_max <= fact.period_left) {
        return text + "up to " + span(fact.run_time_max) + " (maxRunTime)";
    }
    const std::string rest = text + "the " + span(fact.period_left) + " until the period ends";
    return fact.run_time_max > Duration{} ? rest : rest + ", as it has no maxRunTime";
}

}  // namespace

std::string holder_of(const fact::LimitHolder& limit) {
    if (!limit.queue.empty()) return "queue " + limit.queue + " of pool " + limit.pool;
    if (limit.tenant.empty()) return "pool " + limit.pool;
    const std::string holder = "namespace " + limit.tenant;
    return limit.pool.empty() ? holder : holder + " in pool " + limit.pool;
}

std::string words(const fact::LimitReached& fact) {
    std::string text = holder_of(fact.holder) + ": " + arithmetic(fact);
    if (fact.nominated > GpuMilli{}) {
        text += ", " + amounts::gpus(fact.nominated.value()) + " of them earmarked for preemptors";
    }
    if (fact.rule == fact::LimitRule::jobs_at_once) return text + "; it waits for one to end";
    text += ", " + amounts::limit_amount(fact.unit, fact.needed) + " requested";
    if (fact.needed > fact.limit) text += ", more than the limit";
    if (fact.leaves_other_models) text += "; it can use other GPU models only";
    return text;
}

std::string words(const fact::BudgetSpent& fact) {
    const Rounding rounding{fact};
    std::string text = holder_of(fact.holder) + ": " + rounding.counted(fact.used) + " of " +
                       allowed(fact, rounding) + " used " +
                       period_in_words(fact.budget, {fact.period_begin, fact.period_end});
    if (fact.committed > GpuTime{}) {
        text += ", " + rounding.counted(fact.committed) + " committed to running jobs";
    }
    text += "; " + needed(fact, rounding) + "; ";
    if (fact.enough_from < fact.period_end) {
        text += "from " + format_utc(fact.enough_from) +
                " on the hours that are left suffice for the rest of the period; ";
    }
    return text + "the next period begins " + format_utc(fact.period_end);
}

}  // namespace gpuctl::wording::english
