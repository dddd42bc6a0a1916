#pragma once
// Which of two claimants has had less for its weight. amount / weight is compared exactly, by
// cross-multiplication in 128 bits, so that rounding never decides the order.

#include <compare>
#include <cstdint>

#include "scheduler/base/check.hpp"
#include "scheduler/base/wide.hpp"
#include "scheduler/queue/usage.hpp"

namespace gpuctl {

struct Share {
    std::int64_t amount = 0;
    std::int64_t weight = 1;
};

constexpr std::strong_ordering compare_share(Share a, Share b) {
    GPUCTL_CHECK(a.weight > 0 && b.weight > 0, "weights are clamped to at least 1 on entry");
    const Wide left = static_cast<Wide>(a.amount) * b.weight;
    const Wide right = static_cast<Wide>(b.amount) * a.weight;
    if (left < right) return std::strong_ordering::less;
    return left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
}

inline constexpr std::int64_t kShareWhole = 1'000'000'000;  // shares are in parts per billion

// The dominant share (Ghodsi et al., Dominant Resource Fairness, NSDI 2011): the largest of the
// three parts of `whole`, rounded down. Resources that `whole` lacks do not count. The result may
// exceed kShareWhole, because nodes may be removed while work runs.
std::int64_t dominant_share(const Load& held, const Usage& usage, const Load& whole);

// The usage in the current tick, which the mean does not include yet, as a share of the same kind:
// a fraction of `whole` held for a complete tick. It breaks ties of equal shares, so that jobs that
// alternate on a whole pool do not wait for the end of a tick. 0: past usage does not count.
std::int64_t compute_recent_share(const Load& held, Usage usage, Instant now, Duration half_life,
                                  const Load& whole);

}  // namespace gpuctl
