#pragma once
// GPU time that a queue, or a namespace in a pool, may use in each period
// (docs/adr/0022-budgets.md). Pure arithmetic on times that are handed in; UTC, because no other
// time zone is known here.

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <string>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

using GpuTime = Quantity<struct GpuTimeTag>;  // thousandths of a GPU times milliseconds

inline constexpr std::int64_t kGpuTimePerGpuHour = kGpuMilliPerGpu * 3'600'000;
// Sums of it end here, so that what a journal may hold never overflows: 10^9 GPU-hours.
inline constexpr GpuTime kGpuTimeMost{kGpuTimePerGpuHour * 1'000'000'000 / 2};

// So many GPUs for so long, at most kGpuTimeMost; of a negative time it is none.
GpuTime gpu_time(GpuMilli gpus, Duration time);
// Within plus and minus kGpuTimeMost.
GpuTime clamped(GpuTime time);

inline constexpr Duration kDay = Duration::seconds(24 * 3600);
inline constexpr Duration kWeek = kDay * 7;
inline constexpr Instant kFirstMonday{4LL * 24 * 3'600'000};  // 1970-01-05

struct BudgetPolicy {
    GpuTime amount;
    Duration period = kWeek;        // 0: a month of the calendar
    Instant anchor = kFirstMonday;  // one of them begins here; months begin on their first day
    GpuTime carry_over;             // of what is left at its end, into the next one, at most
    friend auto operator<=>(const BudgetPolicy&, const BudgetPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(BudgetPolicy, (), (amount, period, anchor, carry_over))

struct Period {
    Instant begin;
    Instant end;  // the next one begins
    friend bool operator==(const Period&, const Period&) = default;
};
Period period_at(const BudgetPolicy& budget, Instant at);

// "today", "this week", "this month", "since 2026-11-20 00:00 UTC".
std::string period_in_words(const BudgetPolicy& budget, const Period& period);
// Where several are told together that add up to more than there is, what counts against it is
// rounded up and the rest down: else they seem to fit.
enum class RoundHours : std::uint8_t { nearest, up, down };
// What is told of it: thousandths of an hour below one, and tenths above.
GpuTime as_told(GpuTime time, RoundHours rounding);
// "480", "0.125", "-12.5": in GPU-hours.
std::string format_gpu_hours(GpuTime time, RoundHours rounding = RoundHours::nearest);
// "520.025": to the thousandth, as a file holds it.
std::string exact_gpu_hours(GpuTime time);
// "2026-11-23 00:00 UTC", with seconds where they are not zero.
std::string format_utc(Instant at);

}  // namespace gpuctl
