#pragma once
// Who has had less for their weight: held / weight compared exactly, by cross-multiplication in
// 128 bits, so that no rounding decides whose turn it is.

#include <compare>
#include <cstdint>

#include "scheduler/base/check.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

struct Share {
    GpuMilli held;
    std::int64_t weight = 1;
};

constexpr std::strong_ordering compare_share(Share a, Share b) {
    __extension__ using Wide = __int128;
    GPUCTL_CHECK(a.weight > 0 && b.weight > 0, "weights are clamped to at least 1 on entry");
    const Wide left = static_cast<Wide>(a.held.value()) * b.weight;
    const Wide right = static_cast<Wide>(b.held.value()) * a.weight;
    if (left < right) return std::strong_ordering::less;
    return left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
}

}  // namespace gpuctl
