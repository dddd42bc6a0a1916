#pragma once
// Durations as people write them: 500ms, 90s, 15m, 4h, 2d, and sums such as 1h30m.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"

namespace gpuctl::text {

// nullopt: not of that form, negative, or longer than 100 years.
std::optional<Duration> parse_duration(std::string_view text);

// The largest unit that is exact: 90000 ms -> "90s".
std::string format_duration(Duration duration);

// "42s", "5m", "3h", "2d": in one unit, rounded down; "N/A" for a negative age.
std::string format_age(std::int64_t seconds);

// "42s", "1m40s", "1h59m", "2d3h": in two units, for a duration that is not an age; the only form
// of spans in messages. Round an earliest time down and a latest time up, so that the text stays a
// bound; nearest is for estimates, without seconds from a minute on.
enum class Rounding : std::uint8_t { down, nearest, up };
std::string format_span(std::int64_t seconds, Rounding rounding = Rounding::nearest);

}  // namespace gpuctl::text
