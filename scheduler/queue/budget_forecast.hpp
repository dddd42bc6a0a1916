#pragma once
// When a budget lets more work begin, several periods ahead. It uses the same arithmetic as
// Spending and does not count work that is submitted later.

#include <vector>

#include "scheduler/queue/spending.hpp"

namespace gpuctl {

struct BudgetQuestion {
    GpuMilli gpus;
    Duration limit;  // time for which the GPUs may be held; 0: no limit
    GpuTime ahead;   // committed to jobs before it in the current period
    Instant now;
    Instant from;  // earliest result
};

// The earliest time at which the work may begin. Instant::never: not within kPeriodsForeseen, or
// unknown.
inline constexpr int kPeriodsForeseen = 1'000;
Instant begins_by_budget(const BudgetPolicy& policy, const Spending& spending,
                         const std::vector<BudgetDraw>& draws, const BudgetQuestion& question);

}  // namespace gpuctl
