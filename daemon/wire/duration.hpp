#pragma once
// Spans of time as people write them: 500ms, 90s, 15m, 4h, 2d, and sums such as 1h30m.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"

namespace gpuctl::wire {

// nullopt: not of that form, negative, or longer than 100 years.
std::optional<Duration> parse_duration(std::string_view text);

// The largest unit that is exact: 90000 ms -> "90s".
std::string format_duration(Duration duration);

}  // namespace gpuctl::wire
