#include "bench/replay/flag_numbers.hpp"

#include <charconv>
#include <optional>
#include <string>

namespace gpuctl::replay {
namespace {

template <typename Number>
std::optional<Number> parse(const std::string& text) {
    Number value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
    const std::string range = std::to_string(low) + " to " + std::to_string(high);
    const auto normalise = [low, high](std::string& text) -> std::string {
        const auto value = parse<std::uint64_t>(text);
        if (!value || *value < low || *value > high) {
            return "`" + text + "` is not a whole number between " + std::to_string(low) + " and " +
                   std::to_string(high);
        }
        text = std::to_string(*value);
        return "";
    };
    return CLI::Validator(normalise, range);
}

CLI::Validator share() {
    constexpr double kLow = 0.01;
    constexpr double kHigh = 100;
    const auto refuse = [](const std::string& text) -> std::string {
        const auto value = parse<double>(text);
        if (value && *value >= kLow && *value <= kHigh) return "";  // never so for NaN
        return "`" + text + "` is not a number between 0.01 and 100";
    };
    return CLI::Validator(refuse, "0.01 to 100");
}

}  // namespace gpuctl::replay
