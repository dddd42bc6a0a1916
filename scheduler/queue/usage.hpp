#pragma once
// Held resources over time as a decayed mean: usage counts half after each half-life. The mean
// changes in ticks at fixed times (multiples of the tick since 1970). Within a tick, amount times
// milliseconds is summed exactly. So the result depends on what was held when, and not on how often
// it was read. docs/adr/0011-queue-tree.md.

#include <algorithm>
#include <array>
#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

// The requested or held amounts of the three resources that shares and quotas count.
struct Load {
    GpuMilli gpus;
    CpuMilli cpu;
    Bytes memory;
    friend auto operator<=>(const Load&, const Load&) = default;
    void add(const Load& other, std::int64_t times = 1) {
        gpus += other.gpus * times;
        cpu += other.cpu * times;
        memory += other.memory * times;
    }
};
BOOST_DESCRIBE_STRUCT(Load, (), (gpus, cpu, memory))

using UsageAmounts = std::array<std::int64_t, 3>;  // GPUs and CPU in thousandths, memory in MiB

inline constexpr std::int64_t kTicksPerHalfLife = 16;
inline constexpr std::int64_t kUsageUnit = 1024;  // means are kept in 1/1024 of an amount
// Longer half-lives, or larger held amounts, would overflow the sum of a tick.
inline constexpr Duration kHalfLifeMaximum = Duration::seconds(60LL * 24 * 3600);
inline constexpr std::int64_t kUsageAmountMaximum = std::int64_t{1} << 34;

// The length of a tick. Zero: past usage does not count.
constexpr std::int64_t tick_ms(Duration half_life) {
    const std::int64_t ms = std::min(half_life, kHalfLifeMaximum).ms();
    return ms > 0 ? ms / kTicksPerHalfLife + 1 : 0;
}

UsageAmounts amounts_of(const Load& held);

struct Usage {
    UsageAmounts mean{};  // at the last tick's end, in 1/kUsageUnit
    UsageAmounts sum{};   // amount times milliseconds of this tick, up to `since`
    Instant since;

    // Must be called before the held amount changes.
    void accumulate(const Load& held, Instant now);
    // Ends the tick `from` and every tick before `to`; `held` was constant during these ticks.
    void finish(const Load& held, std::int64_t tick, std::int64_t from, std::int64_t to);
    friend auto operator<=>(const Usage&, const Usage&) = default;
};

}  // namespace gpuctl
