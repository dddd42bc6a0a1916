#pragma once
// When a budget lets more work begin, several periods ahead, by the same arithmetic as Spending.
// The forecast excludes work that is submitted later.

#include <vector>

#include "scheduler/queue/spending.hpp"

namespace gpuctl {

struct BudgetQuestion {
    GpuMilli gpus;
    Duration limit;  // that the GPUs may be held; 0: no limit
    GpuTime ahead;   // committed to other jobs before it, in the period under way
    Instant now;
    Instant from;  // no sooner than this
};

// Instant::never: not within kPeriodsForeseen, or unknown.
inline constexpr int kPeriodsForeseen = 1'000;
Instant begins_by_budget(const BudgetPolicy& policy, const Spending& spending,
                         const std::vector<BudgetDraw>& draws, const BudgetQuestion& question);

}  // namespace gpuctl
