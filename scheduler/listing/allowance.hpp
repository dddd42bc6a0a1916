#pragma once
// A budget of loop time for readers that recompute results which change with every step of the
// engine: a fiftieth of the time, plus unused budget for a while. A reader without budget shows the
// previous result. Costs are counted, not measured, so that the same reads of the same states give
// the same results.
//
// Owner, thread: the Listing's.

#include <algorithm>
#include <cstdint>

#include "scheduler/base/time.hpp"

namespace gpuctl {

class Allowance {
public:
    static constexpr std::int64_t kNsPerMs = 20'000;        // per millisecond that passes
    static constexpr std::int64_t kSavedMost = 40'000'000;  // ns

    // True: the amount was available and has been spent.
    bool spend(std::int64_t cost_ns, Instant now) {
        if (now > seen_) {
            const std::int64_t ms = std::min<std::int64_t>((now - seen_).ms(), 10'000);
            left_ns_ = std::min(left_ns_ + ms * kNsPerMs, kSavedMost);
            seen_ = now;
        }
        if (left_ns_ <= 0) return false;
        left_ns_ -= cost_ns;  // an overdraft is paid back before the next amount is spent
        return true;
    }

private:
    std::int64_t left_ns_ = kSavedMost;
    Instant seen_;
};

}  // namespace gpuctl
