#pragma once
// RFC 3339 times: the only parser and formatter of them outside the core.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"

namespace gpuctl::text {

struct TimeStamp {
    std::int64_t seconds = 0;      // since 1970; negative before
    std::int64_t nanoseconds = 0;  // 0 to 999,999,999
};

// "2026-12-01T08:00:00Z", with a fraction of any length (digits beyond nine are dropped), an offset
// in place of Z, or a space in place of T. Years 0000 to 9999; a leap second is accepted.
std::optional<TimeStamp> parse_rfc3339(std::string_view text);
// As above in milliseconds; nullopt up to the start of 1970, which Instant cannot hold.
std::optional<Instant> parse_time(std::string_view text);

// In UTC, to the second. Allocates nothing beyond `out`: answers hold many times.
void append_rfc3339(std::int64_t seconds, std::string& out);
std::string format_rfc3339(std::int64_t seconds);
// In UTC with six decimals: metav1.MicroTime.
std::string format_rfc3339_us(std::int64_t microseconds);
// To the second; "" for an unset Instant.
std::string format_time(Instant time);

}  // namespace gpuctl::text
