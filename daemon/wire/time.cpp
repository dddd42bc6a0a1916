#include "daemon/wire/time.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>

namespace gpuctl::wire {
namespace {

namespace chrono = std::chrono;

// Takes what it reads off the text.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}
    // Exactly so many digits; -1 for anything else.
    int number(std::size_t digits) {
        int value = -1;
        if (text_.size() < digits) return fail();
        const auto [end, error] = std::from_chars(text_.data(), text_.data() + digits, value);
        if (error != std::errc{} || end != text_.data() + digits || value < 0) return fail();
        text_.remove_prefix(digits);
        return value;
    }
    bool one_of(std::string_view characters) {
        const bool is_there =
            !text_.empty() && characters.find(text_.front()) != std::string_view::npos;
        if (is_there) text_.remove_prefix(1);
        return is_there;
    }
    void expect(std::string_view characters) {
        if (!one_of(characters)) fail();
    }
    // What follows a point; digits beyond thousandths are cut off.
    int milliseconds() {
        int value = 0;
        int scale = 100;
        std::size_t digits = 0;
        while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
            value += (text_.front() - '0') * scale;
            scale /= 10;
            ++digits;
            text_.remove_prefix(1);
        }
        return digits == 0 ? fail() : value;
    }
    [[nodiscard]] bool is_at_end() const { return is_good_ && text_.empty(); }

private:
    int fail() {
        is_good_ = false;
        return -1;
    }
    std::string_view text_;
    bool is_good_ = true;
};

}  // namespace

std::optional<Instant> parse_time(std::string_view text) {
    Reader in{text};
    const int year = in.number(4);
    in.expect("-");
    const int month = in.number(2);
    in.expect("-");
    const int day = in.number(2);
    in.expect("Tt ");
    const int hour = in.number(2);
    in.expect(":");
    const int minute = in.number(2);
    in.expect(":");
    const int second = in.number(2);
    const int millisecond = in.one_of(".") ? in.milliseconds() : 0;
    int offset_minutes = 0;
    if (!in.one_of("Zz")) {
        const bool is_west = in.one_of("-");
        if (!is_west) in.expect("+");
        const int hours = in.number(2);
        in.expect(":");
        const int minutes = in.number(2);
        if (hours > 23 || minutes > 59) return std::nullopt;
        offset_minutes = (is_west ? -1 : 1) * (hours * 60 + minutes);
    }
    if (!in.is_at_end()) return std::nullopt;
    const chrono::year_month_day date{chrono::year{year},
                                      chrono::month{static_cast<unsigned>(month)},
                                      chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    const auto time = chrono::sys_days{date} + chrono::hours{hour} +
                      chrono::minutes{minute - offset_minutes} + chrono::seconds{second};
    const std::int64_t ms =
        chrono::duration_cast<chrono::milliseconds>(time.time_since_epoch()).count() + millisecond;
    if (ms <= 0) return std::nullopt;
    return Instant{ms};
}

std::string format_time(Instant time) {
    if (!time.happened()) return "";
    const chrono::sys_seconds at{chrono::seconds{time.ms() / 1000}};
    const auto days = chrono::floor<chrono::days>(at);
    const chrono::year_month_day date{days};
    const chrono::hh_mm_ss clock{at - days};
    char text[40];
    (void)std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ",
                        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                        static_cast<int>(clock.minutes().count()),
                        static_cast<int>(clock.seconds().count()));
    return text;
}

}  // namespace gpuctl::wire
