#pragma once
// The time after which a job may be tried again after an API error: initial * 2^(failures-1), up to
// a maximum. A refusal for lack of room has no backoff; the job waits for an event that can help.

#include <algorithm>
#include <cstdint>

#include "scheduler/base/time.hpp"

namespace gpuctl {

constexpr Duration backoff_after(std::int32_t failures, Duration initial, Duration maximum) {
    std::int64_t ms = std::max<std::int64_t>(initial.ms(), 1);
    for (std::int32_t i = 1; i < failures && ms < maximum.ms(); ++i) ms *= 2;
    return Duration{std::max<std::int64_t>(std::min(ms, maximum.ms()), 1)};
}

}  // namespace gpuctl
