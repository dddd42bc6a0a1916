#pragma once
// Moments as people write them: RFC 3339, to the second or finer, with an offset.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"

namespace gpuctl::wire {

// nullopt: it is none, or lies before 1970 or after 9999.
std::optional<Instant> parse_time(std::string_view text);
std::string format_time(Instant time);  // in UTC, to the second; "" for never

}  // namespace gpuctl::wire
