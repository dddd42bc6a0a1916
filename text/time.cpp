#include "text/time.hpp"

#include <array>
#include <chrono>

namespace gpuctl::text {
namespace {

namespace chrono = std::chrono;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Removes parsed text from the front. After a failure is_at_end() stays false.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : text_(text) {}
    // Exactly `digits` digits.
    int number(std::size_t digits) {
        int value = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            if (i >= text_.size() || !is_decimal(text_[i])) return fail();
            value = value * 10 + (text_[i] - '0');
        }
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
    // The digits after a decimal point, at least one.
    std::int64_t nanoseconds() {
        std::int64_t value = 0;
        std::int64_t scale = 100'000'000;
        if (text_.empty() || !is_decimal(text_.front())) return fail();
        for (; !text_.empty() && is_decimal(text_.front()); text_.remove_prefix(1), scale /= 10) {
            value += (text_.front() - '0') * scale;
        }
        return value;
    }
    // Z or an offset such as +05:30, in minutes east of UTC.
    int offset_minutes() {
        if (one_of("Zz")) return 0;
        const bool is_west = one_of("-");
        if (!is_west) expect("+");
        const int hours = number(2);
        expect(":");
        const int minutes = number(2);
        if (hours > 23 || minutes > 59) return fail();
        return (is_west ? -1 : 1) * (hours * 60 + minutes);
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

char* put(char* at, unsigned value, int digits) {
    for (int i = digits - 1; i >= 0; --i) {
        at[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    return at + digits;
}

constexpr std::size_t kDateTimeBytes = 19;  // 2026-12-01T08:00:00

void append_date_time(std::int64_t seconds, std::string& out) {
    const chrono::sys_seconds time{chrono::seconds{seconds}};
    const auto day = chrono::floor<chrono::days>(time);
    const auto of_day = static_cast<unsigned>((time - day).count());
    const chrono::year_month_day date{day};
    std::array<char, kDateTimeBytes> text{};
    char* at = put(text.data(), static_cast<unsigned>(static_cast<int>(date.year())), 4);
    *at++ = '-';
    at = put(at, static_cast<unsigned>(date.month()), 2);
    *at++ = '-';
    at = put(at, static_cast<unsigned>(date.day()), 2);
    *at++ = 'T';
    at = put(at, of_day / 3'600, 2);
    *at++ = ':';
    at = put(at, of_day / 60 % 60, 2);
    *at++ = ':';
    at = put(at, of_day % 60, 2);
    out.append(text.data(), at);
}

}  // namespace

std::optional<TimeStamp> parse_rfc3339(std::string_view text) {
    TimeReader in{text};
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
    const std::int64_t nanoseconds = in.one_of(".") ? in.nanoseconds() : 0;
    const int offset_minutes = in.offset_minutes();
    if (!in.is_at_end()) return std::nullopt;
    const chrono::year_month_day date{chrono::year{year},
                                      chrono::month{static_cast<unsigned>(month)},
                                      chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    const chrono::sys_seconds time = chrono::sys_days{date} + chrono::hours{hour} +
                                     chrono::minutes{minute - offset_minutes} +
                                     chrono::seconds{second};
    return TimeStamp{time.time_since_epoch().count(), nanoseconds};
}

std::optional<Instant> parse_time(std::string_view text) {
    const std::optional<TimeStamp> stamp = parse_rfc3339(text);
    if (!stamp) return std::nullopt;
    const std::int64_t ms = stamp->seconds * 1'000 + stamp->nanoseconds / 1'000'000;
    if (ms <= 0) return std::nullopt;
    return Instant{ms};
}

void append_rfc3339(std::int64_t seconds, std::string& out) {
    append_date_time(seconds, out);
    out += 'Z';
}

std::string format_rfc3339(std::int64_t seconds) {
    std::string text;
    append_rfc3339(seconds, text);
    return text;
}

std::string format_rfc3339_us(std::int64_t microseconds) {
    const auto seconds = chrono::floor<chrono::seconds>(chrono::microseconds{microseconds});
    const std::int64_t rest = microseconds - seconds.count() * 1'000'000;
    std::string text;
    append_date_time(seconds.count(), text);
    std::array<char, 8> fraction{'.'};
    *put(fraction.data() + 1, static_cast<unsigned>(rest), 6) = 'Z';
    return text.append(fraction.data(), fraction.size());
}

std::string format_time(Instant time) {
    if (!time.happened()) return "";
    return format_rfc3339(chrono::floor<chrono::seconds>(chrono::milliseconds{time.ms()}).count());
}

}  // namespace gpuctl::text
