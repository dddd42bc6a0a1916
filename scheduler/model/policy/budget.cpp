#include "scheduler/model/policy/budget.hpp"

#include <algorithm>
#include <chrono>

#include "scheduler/base/wide.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::sys_time;
using std::chrono::year_month_day;

sys_days day_of(Instant at) { return floor<days>(sys_time<milliseconds>{milliseconds{at.ms()}}); }

Instant begin_of(sys_days day) { return Instant{milliseconds{day.time_since_epoch()}.count()}; }

Period month_at(Instant at) {
    const year_month_day date{day_of(at)};
    const auto month = date.year() / date.month();
    return {begin_of(sys_days{month / 1}), begin_of(sys_days{(month + months{1}) / 1})};
}

std::string padded(std::int64_t number, std::size_t digits) {
    const std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

}  // namespace

GpuTime gpu_time(GpuMilli gpus, Duration time) {
    const Wide product = static_cast<Wide>(gpus.value()) * std::max<std::int64_t>(time.ms(), 0);
    return GpuTime{static_cast<std::int64_t>(std::min<Wide>(product, kGpuTimeMost.value()))};
}

GpuTime clamped(GpuTime time) { return std::clamp(time, GpuTime{} - kGpuTimeMost, kGpuTimeMost); }

Period period_at(const BudgetPolicy& budget, Instant at) {
    const std::int64_t length = budget.period.ms();
    if (length <= 0) return month_at(at);
    const std::int64_t since = (at - budget.anchor).ms();
    const std::int64_t into = (since % length + length) % length;
    const Instant begin{at.ms() - into};
    return {begin, begin + budget.period};
}

std::string period_in_words(const BudgetPolicy& budget, const Period& period) {
    if (budget.period == Duration{}) return "this month";
    if (budget.period == kDay && budget.anchor.ms() % kDay.ms() == 0) return "today";
    if (budget.period == kWeek && budget.anchor == kFirstMonday) return "this week";
    return "since " + format_utc(period.begin);
}

GpuTime as_shown(GpuTime time, RoundHours rounding) {
    constexpr std::int64_t per_thousandth = kGpuTimePerGpuHour / 1000;
    const bool is_negative = time < GpuTime{};
    const std::int64_t value = is_negative ? -time.value() : time.value();
    const bool grows = rounding == (is_negative ? RoundHours::down : RoundHours::up);
    const auto in_steps_of = [&](std::int64_t step) {
        const std::int64_t more = rounding == RoundHours::nearest ? step / 2 : grows ? step - 1 : 0;
        return (value + more) / step * step;
    };
    std::int64_t shown = in_steps_of(per_thousandth);
    if (shown >= 1000 * per_thousandth) shown = in_steps_of(100 * per_thousandth);
    return GpuTime{is_negative ? -shown : shown};
}

std::string format_gpu_hours(GpuTime time, RoundHours rounding) {
    const std::int64_t shown = as_shown(time, rounding).value();
    const std::int64_t thousandths = (shown < 0 ? -shown : shown) / (kGpuTimePerGpuHour / 1000);
    std::string text = std::to_string(thousandths / 1000);
    if (const std::int64_t rest = thousandths % 1000; rest != 0) {
        text += "." + padded(rest, 3);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return (shown < 0 ? "-" : "") + text;
}

std::string exact_gpu_hours(GpuTime time) {
    return format_gpus(GpuMilli{time.value() / (kGpuTimePerGpuHour / 1000)});
}

std::string format_utc(Instant at) {
    const sys_days day = day_of(at);
    const year_month_day date{day};
    const std::int64_t second = (at - begin_of(day)).ms() / 1000;
    std::string text = padded(int{date.year()}, 4) + "-" + padded(unsigned{date.month()}, 2) + "-" +
                       padded(unsigned{date.day()}, 2) + " " + padded(second / 3600, 2) + ":" +
                       padded(second / 60 % 60, 2);
    if (second % 60 != 0) text += ":" + padded(second % 60, 2);
    return text + " UTC";
}

}  // namespace gpuctl
