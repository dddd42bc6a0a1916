#include "k8s/object_time.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace gpuctl::k8s {

namespace {

// `width` digits at `from`, or -1.
int digits(std::string_view text, std::size_t from, std::size_t width) {
    int value = 0;
    for (std::size_t i = from; i < from + width; ++i) {
        if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

std::int64_t fraction_ms(std::string_view& rest) {
    if (!rest.starts_with('.')) return 0;
    rest.remove_prefix(1);
    std::int64_t ms = 0;
    std::int64_t unit = 100;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
        ms += unit * (rest.front() - '0');
        unit /= 10;
        rest.remove_prefix(1);
    }
    return ms;
}

std::string format(Instant time, const char* suffix) {
    using namespace std::chrono;
    const sys_time<milliseconds> point{milliseconds{time.ms()}};
    const auto day = floor<days>(point);
    const year_month_day date{day};
    const hh_mm_ss clock{floor<seconds>(point - day)};
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d%s",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), suffix);
    return text.data();
}

}  // namespace

Instant parse_object_time(std::string_view text) {
    using namespace std::chrono;
    const int year_number = digits(text, 0, 4);
    const int month_number = digits(text, 5, 2);
    const int day_number = digits(text, 8, 2);
    const int hour = digits(text, 11, 2);
    const int minute = digits(text, 14, 2);
    const int second = digits(text, 17, 2);
    if (year_number < 0 || month_number < 0 || day_number < 0 || hour < 0 || minute < 0 ||
        second < 0) {
        return Instant{};
    }
    const year_month_day date{year{year_number}, month{static_cast<unsigned>(month_number)},
                              std::chrono::day{static_cast<unsigned>(day_number)}};
    std::string_view rest = text.substr(19);
    const std::int64_t ms = fraction_ms(rest);
    if (!date.ok() || rest != "Z") return Instant{};  // the API server writes UTC only
    const auto seconds_of_day = ((hour * 60LL) + minute) * 60 + second;
    return Instant{sys_days{date}.time_since_epoch().count() * 86'400'000LL +
                   seconds_of_day * 1000 + ms};
}

std::string format_object_time(Instant time) { return format(time, "Z"); }

std::string format_micro_time(Instant time) {
    std::array<char, 12> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03d000Z",
                  static_cast<int>(((time.ms() % 1000) + 1000) % 1000));
    return format(time, fraction.data());
}

}  // namespace gpuctl::k8s
