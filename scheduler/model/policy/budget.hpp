#pragma once
// The GPU time that a queue, or a namespace in a pool, may use in each period
// (docs/adr/0022-budgets.md). Pure arithmetic: times are arguments. All times are UTC.

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <string>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

using GpuTime = Quantity<struct GpuTimeTag>;  // thousandths of a GPU times milliseconds

inline constexpr std::int64_t kGpuTimePerGpuHour = kGpuMilliPerGpu * 3'600'000;
// Sums are limited to this, so that no value in a journal overflows: 10^9 GPU-hours.
inline constexpr GpuTime kGpuTimeMost{kGpuTimePerGpuHour * 1'000'000'000 / 2};

// The product, at most kGpuTimeMost; zero for a negative time.
GpuTime gpu_time(GpuMilli gpus, Duration time);
// Limits the amount to plus and minus kGpuTimeMost.
GpuTime clamped(GpuTime time);

inline constexpr Duration kDay = Duration::seconds(24 * 3600);
inline constexpr Duration kWeek = kDay * 7;
inline constexpr Instant kFirstMonday{4LL * 24 * 3'600'000};  // 1970-01-05

struct BudgetPolicy {
    GpuTime amount;
    Duration period = kWeek;        // 0: a calendar month
    Instant anchor = kFirstMonday;  // the begin of one period; months begin on their first day
    GpuTime carry_over;             // at most this much of the unused rest moves to the next period
    friend auto operator<=>(const BudgetPolicy&, const BudgetPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(BudgetPolicy, (), (amount, period, anchor, carry_over))

struct Period {
    Instant begin;
    Instant end;  // begin of the next period
    friend bool operator==(const Period&, const Period&) = default;
};
Period period_at(const BudgetPolicy& budget, Instant at);

// The text "today", "this week", "this month" or "since 2026-11-20 00:00 UTC".
std::string period_in_words(const BudgetPolicy& budget, const Period& period);
// If several values are reported together that add up to more than the budget, values that count
// against the budget are rounded up and other values down, so that the reported values show the
// excess.
enum class RoundHours : std::uint8_t { nearest, up, down };
// The time rounded for reports: to thousandths of an hour below one hour, to tenths above.
GpuTime as_shown(GpuTime time, RoundHours rounding);
// GPU-hours as text: "480", "0.125", "-12.5".
std::string format_gpu_hours(GpuTime time, RoundHours rounding = RoundHours::nearest);
// GPU-hours to the thousandth, as a file stores them: "520.025".
std::string exact_gpu_hours(GpuTime time);
// The text "2026-11-23 00:00 UTC", with seconds if they are not zero.
std::string format_utc(Instant at);

}  // namespace gpuctl
