#include "scheduler/queue/usage.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/base/wide.hpp"

namespace gpuctl {
namespace {

// 2^(-1/16), the factor of a mean over one tick, in parts of 2^32.
constexpr std::int64_t kWhole = std::int64_t{1} << 32;
constexpr std::int64_t kLeft = 4'112'874'773;

std::int64_t after_tick(std::int64_t mean, std::int64_t of_tick) {
    const std::int64_t left = has_fault(SeededFault::forget_decay) ? kWhole : kLeft;
    const Wide sum = static_cast<Wide>(mean) * left + static_cast<Wide>(of_tick) * (kWhole - kLeft);
    return static_cast<std::int64_t>(sum / kWhole);
}

}  // namespace

UsageAmounts amounts_of(const Load& held) {
    const auto clamp = [](std::int64_t amount) {
        return std::clamp<std::int64_t>(amount, 0, kUsageAmountMaximum);
    };
    return {clamp(held.gpus.value()), clamp(held.cpu.value()), clamp(held.memory.value() >> 20)};
}

void Usage::accumulate(const Load& held, Instant now) {
    const std::int64_t ms = (now - since).ms();
    since = now;
    if (ms == 0) return;
    const UsageAmounts amounts = amounts_of(held);
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (amounts[i] != 0) sum[i] += amounts[i] * ms;
    }
}

void Usage::finish(const Load& held, std::int64_t tick, std::int64_t from, std::int64_t to) {
    accumulate(held, Instant{(from + 1) * tick});
    const UsageAmounts amounts = amounts_of(held);
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        mean[i] = after_tick(
            mean[i], static_cast<std::int64_t>(static_cast<Wide>(sum[i]) * kUsageUnit / tick));
        sum[i] = 0;
        // Ends whole ticks with the same amount. If one tick changes nothing, no later one does.
        for (std::int64_t t = from + 1; t < to; ++t) {
            const std::int64_t next = after_tick(mean[i], amounts[i] * kUsageUnit);
            if (next == mean[i]) break;
            mean[i] = next;
        }
    }
    since = Instant{to * tick};
}

}  // namespace gpuctl
