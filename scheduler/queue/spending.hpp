#pragma once
// What of one budget was used in the period under way, and what of it is committed: to each pod
// that holds GPUs until its limit ends, or the period does. While nothing changes, and nobody runs
// over his limit, used and committed together stay as they are: time only turns one into the other.
// Room that is claimed uses nothing, since nothing runs there: committed to it is what it would
// need if it began now. So near the end of a period that becomes less, and never more before it.
// docs/adr/0022-budgets.md.
//
// Times handed in never go back, and none lies beyond the period: turn() first.

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/base/wide.hpp"
#include "scheduler/model/budget.hpp"

namespace gpuctl {

// GPUs that are held: until their limit, unless they are thought to end before it; or never.
struct BudgetDraw {
    GpuMilli gpus;
    Instant limit;
    Instant end;
};

class Spending {
public:
    // What a restart must not lose; `used` up to the moment it was taken.
    struct Kept {
        Instant period_begin;
        GpuTime used;
        GpuTime carried;
        friend bool operator==(const Kept&, const Kept&) = default;
    };

    Spending() = default;
    // A budget that begins: nothing was used of it.
    Spending(const BudgetPolicy& policy, Instant now);
    [[nodiscard]] Kept kept(Instant now) const;
    void restore(const Kept& kept, Instant now);

    // From now on so many GPUs are held, or no more, until `end` at most; never: until it says so.
    void hold(GpuMilli gpus, Instant end, Instant now);
    void release(GpuMilli gpus, Instant end, Instant now);
    // Room is kept for so many GPUs that will then be held for `limit`; 0: without a limit.
    void claim(GpuMilli gpus, Duration limit);
    void unclaim(GpuMilli gpus, Duration limit);
    // Ends the period, and every one after it that is over; what was not used, or was used beyond
    // the budget, goes on to the next.
    bool turn(const BudgetPolicy& policy, Instant now);

    [[nodiscard]] const Period& period() const { return period_; }
    [[nodiscard]] GpuTime carried() const { return carried_; }
    [[nodiscard]] GpuTime used(Instant now) const;
    [[nodiscard]] GpuTime committed(Instant now) const;
    [[nodiscard]] GpuMilli held() const { return held_; }
    [[nodiscard]] GpuMilli claimed() const;
    // What is held and claimed, each until its limit.
    [[nodiscard]] std::vector<BudgetDraw> draws(Instant now) const;
    // Of this period, by GPUs that would be held from now on; 0: without a limit.
    [[nodiscard]] GpuTime needed(GpuMilli gpus, Duration limit, Instant now) const;
    // When as many GPUs, whose need is more than `left`, could begin if nothing else changed and
    // what is claimed began now.
    [[nodiscard]] Instant fits_from(GpuMilli gpus, GpuTime left) const;
    // The same if what is claimed did not begin, and so needed less the nearer the end came.
    [[nodiscard]] Instant fits_beside_claims_from(GpuMilli gpus, Duration limit, GpuTime left,
                                                  Instant now) const;

private:
    void advance(Instant now);
    void sum_up();
    [[nodiscard]] Wide committed_to_claims(Instant now) const;

    Period period_;
    Instant since_;  // sums are as of then
    GpuTime used_;
    GpuTime carried_;
    GpuMilli held_;
    std::map<Instant, GpuMilli> ends_;  // of what is held, those to come
    std::map<Duration, GpuMilli> claimed_;
    // Of them, those within the period: GPUs, and GPUs times milliseconds from its beginning.
    GpuMilli ending_;
    Wide ending_sum_ = 0;
    GpuMilli overdue_;  // held beyond its end
};

}  // namespace gpuctl
