#include "policy_document/budget_keys.hpp"

#include <array>

#include "policy_document/tables.hpp"
#include "policy_document/time_keys.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "text/duration.hpp"
#include "text/time.hpp"
#include "wire/period.hpp"

namespace gpuctl::config {
namespace {

constexpr std::int64_t kPerThousandth = kGpuTimePerGpuHour / 1000;
constexpr std::int64_t kGpuHoursMost = 100'000'000;
constexpr Duration kShortestPeriod = Duration::seconds(3600);
constexpr Duration kLongestPeriod = kDay * 366;

Key<BudgetPolicy> gpu_hours(std::string_view name, GpuTime BudgetPolicy::* member,
                            std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, BudgetPolicy& budget) {
                const auto thousandths = read_thousandths(field, "GPU-hours");
                if (!thousandths) return;
                if (*thousandths > kGpuHoursMost * 1000) {
                    return field.error("must be at most " + std::to_string(kGpuHoursMost) +
                                       " GPU-hours");
                }
                budget.*member = GpuTime{*thousandths * kPerThousandth};
            },
            [member](const BudgetPolicy& budget, Shown& shown) {
                shown.value = format_gpus(GpuMilli{(budget.*member).value() / kPerThousandth});
            }};
}

Key<BudgetPolicy> period() {
    return {
        "period", "day, week (from Monday), month, all UTC, or a span such as 30d", true,
        [](const wire::Field& field, BudgetPolicy& budget) {
            const auto written = field.word();
            if (!written) return;
            const auto read = wire::parse_period(*written);
            if (!read) {
                return field.error("must be day, week, month or a span such as 30d, not \"" +
                                   *written + "\"");
            }
            const bool is_month = read->length == Duration{};
            if (!is_month && (read->length < kShortestPeriod || read->length > kLongestPeriod)) {
                return field.error("must be from " + text::format_duration(kShortestPeriod) +
                                   " to " + text::format_duration(kLongestPeriod) + ", not " +
                                   *written);
            }
            budget.period = read->length;
            budget.anchor = read->anchor;
        },
        [](const BudgetPolicy& budget, Shown& shown) {
            shown.value = yaml_text(wire::format_period(budget));
        }};
}

// Read after `period`; that it is given for spans only is checked below.
Key<BudgetPolicy> period_start() {
    return {"start", "start of one period, for spans; absent: counted from 1970", false,
            [](const wire::Field& field, BudgetPolicy& budget) {
                if (const std::optional<Instant> at = read_time(field)) budget.anchor = *at;
            },
            [](const BudgetPolicy& budget, Shown& shown) {
                shown.absent = budget.anchor == Instant{} || budget.anchor == kFirstMonday;
                const Instant example = *text::parse_time("2026-12-01T00:00:00Z");
                shown.value = yaml_text(text::format_time(shown.absent ? example : budget.anchor));
            }};
}

// Calendar periods have a fixed start: a period with both is a mistake.
void check_start(const wire::Field& period, const wire::Field& start) {
    if (!start || !period || period.json().is_structured()) return;
    constexpr auto kBegins = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"day", "begins at midnight UTC"},
         {"week", "begins on Monday"},
         {"month", "begins on its first day"}});
    for (const auto& [name, begins] : kBegins) {
        if (period.text() != name) continue;
        start.error("start is for spans such as 30d; a " + std::string{name} + " " +
                    std::string{begins} + ": remove start, or give a span");
    }
}

}  // namespace

BudgetPolicy example_budget() {
    BudgetPolicy budget;
    budget.amount = GpuTime{500 * kGpuTimePerGpuHour};
    budget.carry_over = GpuTime{50 * kGpuTimePerGpuHour};
    return budget;
}

template <>
const std::vector<Key<BudgetPolicy>>& keys<BudgetPolicy>() {
    static const std::vector<Key<BudgetPolicy>> table = {
        required(gpu_hours("gpuHours", &BudgetPolicy::amount, "GPU-hours per period")),
        period(),
        period_start(),
        gpu_hours("carryOver", &BudgetPolicy::carry_over,
                  "at most this much of the unused budget is carried over to the next period; an "
                  "overdraft always is"),
    };
    return table;
}

void check(const BudgetPolicy& budget, const wire::Field& field) {
    wire::Fields fields{field};
    check_start(fields.find("period"), fields.find("start"));
    if (const wire::Field amount = fields.find("gpuHours"); amount && budget.amount == GpuTime{}) {
        amount.error("must be more than 0; for a queue that must run no job set maximum: 0");
    }
}

}  // namespace gpuctl::config
