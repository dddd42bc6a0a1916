#include "scheduler/queue/budget_forecast.hpp"

#include <algorithm>
#include <utility>

namespace gpuctl {
namespace {

// A span of one period from `at` on: the amount left, and what pods that end early return to it.
struct Stretch {
    Period period;
    Instant at;
    GpuTime left;
    std::vector<std::pair<Instant, GpuTime>> back;  // by time

    Stretch(const Period& of, Instant begin, GpuTime unused, const std::vector<BudgetDraw>& draws)
        : period(of), at(begin), left(unused) {
        for (const BudgetDraw& draw : draws) {
            const bool is_over = draw.end.happened() && draw.end <= at;
            const Instant limit = draw.limit.happened() ? std::min(draw.limit, of.end) : of.end;
            if (is_over || limit <= at) continue;
            left = clamped(left - gpu_time(draw.gpus, limit - at));
            if (!draw.end.happened() || draw.end >= limit) continue;
            back.emplace_back(draw.end, gpu_time(draw.gpus, limit - draw.end));
        }
        std::sort(back.begin(), back.end());
    }

    // The first time in the period, not before `from`, at which the amount left covers what the
    // GPUs need; or never. Afterwards `left` is the amount left at the end of the period.
    Instant begins(const BudgetQuestion& question) {
        Instant found;
        Instant start = std::max(at, question.from);
        for (auto next = back.begin();; ++next) {
            const Instant until = next == back.end() ? period.end : next->first;
            if (!found.happened() && start < until) found = between(start, until, question);
            if (next == back.end()) return found;
            left = clamped(left + next->second);
            start = std::max(start, next->first);
        }
    }

private:
    [[nodiscard]] Instant between(Instant start, Instant until,
                                  const BudgetQuestion& question) const {
        Duration time = period.end - start;
        if (question.limit > Duration{}) time = std::min(time, question.limit);
        if (gpu_time(question.gpus, time) <= left) return start;
        if (left <= GpuTime{} || question.gpus <= GpuMilli{}) return {};
        const Instant short_enough{period.end.ms() - left.value() / question.gpus.value()};
        return short_enough < until ? short_enough : Instant{};
    }
};

}  // namespace

Instant begins_by_budget(const BudgetPolicy& policy, const Spending& spending,
                         const std::vector<BudgetDraw>& draws, const BudgetQuestion& question) {
    Period period = spending.period();
    Instant at = question.now;
    GpuTime unused = clamped(policy.amount + spending.carried() - spending.used(at));
    unused = clamped(unused - question.ahead);
    for (int i = 0; i < kPeriodsForeseen; ++i) {
        Stretch stretch{period, at, unused, draws};
        const Instant found = stretch.begins(question);
        if (found.happened()) return found;
        unused = clamped(policy.amount + std::min(stretch.left, policy.carry_over));
        at = period.end;
        period = period_at(policy, at);
    }
    return {};
}

}  // namespace gpuctl
