#include "scheduler/queue/share.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/base/wide.hpp"

namespace gpuctl {

namespace {

// its product with a weight fits 128 bits
constexpr std::int64_t kShareMaximum = std::int64_t{1} << 52;

static_assert(static_cast<std::uint64_t>(kUsageAmountMaximum) <= UINT64_MAX / kShareWhole);

std::int64_t part_of(std::int64_t held, std::int64_t mean, std::int64_t whole) {
    // Held amounts without past usage fit 64 bits, unsigned. This path runs for every pod that is
    // placed.
    if (mean == 0) {
        const std::uint64_t part =
            static_cast<std::uint64_t>(held) * kShareWhole / static_cast<std::uint64_t>(whole);
        return static_cast<std::int64_t>(std::min<std::uint64_t>(part, kShareMaximum));
    }
    const Wide counted = static_cast<Wide>(held) * kUsageUnit + mean;
    const Wide part = counted * kShareWhole / (static_cast<Wide>(whole) * kUsageUnit);
    return static_cast<std::int64_t>(std::min<Wide>(part, kShareMaximum));
}

}  // namespace

std::int64_t dominant_share(const Load& held, const Usage& usage, const Load& whole) {
    const UsageAmounts has = amounts_of(held);
    const UsageAmounts of = amounts_of(whole);
    std::int64_t most = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] == 0 || (i > 0 && has_fault(SeededFault::share_of_gpus_only))) continue;
        if (has[i] == 0 && usage.mean[i] == 0) continue;
        most = std::max(most, part_of(has[i], usage.mean[i], of[i]));
    }
    return most;
}

std::int64_t compute_recent_share(const Load& held, Usage usage, Instant now, Duration half_life,
                                  const Load& whole) {
    const std::int64_t tick = tick_ms(half_life);
    if (tick == 0 || has_fault(SeededFault::equal_shares_by_age)) return 0;
    usage.accumulate(held, now);
    const UsageAmounts of = amounts_of(whole);
    Wide most = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] == 0) continue;
        most = std::max(most, static_cast<Wide>(usage.sum[i]) * kShareWhole /
                                  (static_cast<Wide>(of[i]) * tick));
    }
    return static_cast<std::int64_t>(std::min<Wide>(most, kShareMaximum));
}

}  // namespace gpuctl
