#pragma once
// Who has had less for their weight: amount / weight compared exactly, by cross-multiplication in
// 128 bits, so that no rounding decides whose turn it is.

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

// The dominant share: the largest of the three parts of `whole`, rounded down; what `whole` has
// nothing of does not count. More than the whole is possible: nodes go while work runs.
std::int64_t dominant_share(const Load& held, const Usage& usage, const Load& whole);

// What was held in the tick under way, which the mean does not know yet, as the same kind of part:
// of `whole` held for all of a tick. It tells equal shares apart, so that who takes turns on all of
// a pool does not wait for a tick to end before he is known to have had one. 0: nothing is
// remembered.
std::int64_t share_lately(const Load& held, Usage usage, Instant now, Duration half_life,
                          const Load& whole);

}  // namespace gpuctl
