#pragma once
// When a budget lets more begin, periods ahead, by the arithmetic with which Spending ends them.
// What nobody waits for yet, and what comes later, is in none of it.

#include <vector>

#include "scheduler/queue/spending.hpp"

namespace gpuctl {

struct BudgetQuestion {
    GpuMilli gpus;
    Duration limit;  // that they may be held; 0: without one
    GpuTime ahead;   // that others take before it, of the period under way
    Instant now;
    Instant from;  // no sooner than this
};

// Never: not within kPeriodsForeseen, or nobody knows when.
inline constexpr int kPeriodsForeseen = 1'000;
Instant begins_by_budget(const BudgetPolicy& policy, const Spending& spending,
                         const std::vector<BudgetDraw>& draws, const BudgetQuestion& question);

}  // namespace gpuctl
