#include "text/duration.hpp"

#include <algorithm>

namespace gpuctl::text {
namespace {

struct Unit {
    std::string_view suffix;
    std::int64_t ms;
};
constexpr Unit kUnits[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr std::int64_t kMax = std::int64_t{100} * 366 * 86'400'000;
constexpr std::size_t kDigitsMax = 15;

const Unit* unit_named(std::string_view suffix) {
    for (const Unit& unit : kUnits) {
        if (unit.suffix == suffix) return &unit;
    }
    return nullptr;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::int64_t total = 0;
    const Unit* last = nullptr;
    while (!text.empty()) {
        const std::size_t digits = text.find_first_not_of("0123456789");
        if (digits == 0 || digits == std::string_view::npos || digits > kDigitsMax) {
            return std::nullopt;
        }
        std::int64_t number = 0;
        for (const char c : text.substr(0, digits)) number = number * 10 + (c - '0');
        text.remove_prefix(digits);
        const std::size_t letters = std::min(text.find_first_of("0123456789"), text.size());
        const Unit* unit = unit_named(text.substr(0, letters));
        text.remove_prefix(letters);
        // Largest unit first, each once: 1h30m, never 30m1h.
        if (unit == nullptr || (last != nullptr && unit <= last)) return std::nullopt;
        last = unit;
        if (number > kMax / unit->ms) return std::nullopt;
        total += number * unit->ms;
        if (total > kMax) return std::nullopt;
    }
    return Duration{total};
}

std::string format_duration(Duration duration) {
    for (const Unit& unit : kUnits) {
        if (duration.ms() != 0 && duration.ms() % unit.ms == 0) {
            return std::to_string(duration.ms() / unit.ms) + std::string{unit.suffix};
        }
    }
    return "0s";
}

std::string format_age(std::int64_t seconds) {
    if (seconds < 0) return "N/A";
    if (seconds < 60) return std::to_string(seconds) + "s";
    if (seconds < 3'600) return std::to_string(seconds / 60) + "m";
    if (seconds < 86'400) return std::to_string(seconds / 3'600) + "h";
    return std::to_string(seconds / 86'400) + "d";
}

std::string format_span(std::int64_t seconds, Rounding rounding) {
    const bool is_estimate = rounding == Rounding::nearest;
    const std::int64_t unit = seconds < (is_estimate ? 60 : 3'600) ? 1
                              : seconds < 86'400                   ? 60
                                                                   : 3'600;  // the smaller one
    const std::int64_t more = rounding == Rounding::up        ? unit - 1
                              : rounding == Rounding::nearest ? unit / 2
                                                              : 0;
    const std::int64_t rounded = (std::max<std::int64_t>(seconds, 0) + more) / unit * unit;
    if (rounded < 60) return std::to_string(rounded) + "s";
    std::string text;
    const auto add = [&](std::int64_t count, const char* name) {
        if (count > 0) text += std::to_string(count) + name;
    };
    add(rounded / 86'400, "d");
    add(rounded % 86'400 / 3'600, "h");
    if (rounded < 86'400) add(rounded % 3'600 / 60, "m");
    if (rounded < 3'600) add(rounded % 60, "s");
    return text;
}

}  // namespace gpuctl::text
