#pragma once
// Periods of budgets as people write them: day, week, month, or a span such as 30d.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/model/policy/budget.hpp"

namespace gpuctl::wire {

// Days begin at midnight UTC, weeks on Monday, months on their first day; spans are counted from
// 1970 unless a start is given. nullopt: not of that form.
struct WrittenPeriod {
    Duration length;  // 0: a month
    Instant anchor;
};
std::optional<WrittenPeriod> parse_period(std::string_view text);

std::string format_period(const BudgetPolicy& budget);

}  // namespace gpuctl::wire
