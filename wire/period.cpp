#include "wire/period.hpp"

#include "text/duration.hpp"

namespace gpuctl::wire {

std::optional<WrittenPeriod> parse_period(std::string_view text) {
    if (text == "day") return WrittenPeriod{kDay, Instant{}};
    if (text == "week") return WrittenPeriod{kWeek, kFirstMonday};
    if (text == "month") return WrittenPeriod{Duration{}, Instant{}};
    const std::optional<Duration> length = text::parse_duration(text);
    if (!length || *length == Duration{}) return std::nullopt;
    return WrittenPeriod{*length, Instant{}};
}

std::string format_period(const BudgetPolicy& budget) {
    if (budget.period == Duration{}) return "month";
    if (budget.period == kDay && budget.anchor == Instant{}) return "day";
    if (budget.period == kWeek && budget.anchor == kFirstMonday) return "week";
    return text::format_duration(budget.period);
}

}  // namespace gpuctl::wire
