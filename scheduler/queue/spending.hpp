#pragma once
// The GPU time of one budget that was used in the current period, and the amount committed: to each
// pod that holds GPUs, until its run-time limit or the end of the period. While no pod starts, ends
// or exceeds its limit, used and committed together are constant: time turns one into the other.
// Nominated capacity uses nothing, because nothing runs there: the amount committed to it is what
// it would need if it began now. Near the end of a period this amount shrinks; it never grows.
// docs/adr/0022-budgets.md.
//
// Times passed in never decrease, and none is after the period: call turn() first.

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/base/wide.hpp"
#include "scheduler/model/policy/budget.hpp"

namespace gpuctl {

// GPUs that are held until `limit` or Instant::never, unless they are predicted to be released at
// `end` before that.
struct BudgetDraw {
    GpuMilli gpus;
    Instant limit;
    Instant end;
};

class Spending {
public:
    // The part that must survive a restart; `used` is as of the time of the snapshot.
    struct Kept {
        Instant period_begin;
        GpuTime used;
        GpuTime carried;
        friend bool operator==(const Kept&, const Kept&) = default;
    };

    Spending() = default;
    // A new budget of which nothing is used.
    Spending(const BudgetPolicy& policy, Instant now);
    [[nodiscard]] Kept kept(Instant now) const;
    void restore(const Kept& kept, Instant now);

    // From `now` on this number of GPUs is held, or no longer held, until `end` at most;
    // Instant::never: without end.
    void hold(GpuMilli gpus, Instant end, Instant now);
    void release(GpuMilli gpus, Instant end, Instant now);
    // Capacity is earmarked for this number of GPUs, which will be held for `limit`; 0: no limit.
    void add_nomination(GpuMilli gpus, Duration limit);
    void withdraw_nomination(GpuMilli gpus, Duration limit);
    // Ends the current period, and every later period that is over. The unused rest, or the
    // overdraft, moves to the next period.
    bool turn(const BudgetPolicy& policy, Instant now);

    [[nodiscard]] const Period& period() const { return period_; }
    [[nodiscard]] GpuTime carried() const { return carried_; }
    [[nodiscard]] GpuTime used(Instant now) const;
    [[nodiscard]] GpuTime committed(Instant now) const;
    [[nodiscard]] GpuMilli held() const { return held_; }
    [[nodiscard]] GpuMilli nominated() const;
    // Held and earmarked capacity, each with its limit.
    [[nodiscard]] std::vector<BudgetDraw> draws(Instant now) const;
    // The GPU time needed in this period by GPUs that are held from now on; limit 0: no limit.
    [[nodiscard]] GpuTime needed(GpuMilli gpus, Duration limit, Instant now) const;
    // The time at which these GPUs, which need more than `left`, could begin if nothing else
    // changed and the earmarked capacity began now.
    [[nodiscard]] Instant fits_from(GpuMilli gpus, GpuTime left) const;
    // The time at which they could begin if earmarked capacity does not begin. What is committed to
    // it shrinks towards the end of the period.
    [[nodiscard]] Instant fits_with_nominations_from(GpuMilli gpus, Duration limit, GpuTime left,
                                                     Instant now) const;

private:
    void advance(Instant now);
    void sum_up();
    [[nodiscard]] Wide committed_to_nominations(Instant now) const;

    Period period_;
    Instant since_;  // time of the sums in this object
    GpuTime used_;
    GpuTime carried_;
    GpuMilli held_;
    std::map<Instant, GpuMilli> ends_;  // ends of held GPUs in the future
    std::map<Duration, GpuMilli> nominated_;
    // The part of `ends_` that is within the period: GPUs, and GPUs times milliseconds from its
    // beginning.
    GpuMilli ending_;
    Wide ending_sum_ = 0;
    GpuMilli overdue_;  // GPUs held beyond their limit
};

}  // namespace gpuctl
