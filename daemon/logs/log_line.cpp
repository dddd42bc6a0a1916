#include "daemon/logs/log_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "scheduler/base/hash.hpp"

namespace gpuctl::logs {
namespace {

// RFC 3339 with nanoseconds and offset, and a space.
constexpr std::size_t kStampBytesMax = 40;
constexpr std::size_t kCharacterBytesMax = 4;

bool read_number(std::string_view text, std::size_t at, std::size_t width, int& value) {
    if (at + width > text.size()) return false;
    const char* first = text.data() + at;
    const auto [end, error] = std::from_chars(first, first + width, value);
    return error == std::errc{} && end == first + width;
}

std::optional<std::int64_t> offset_seconds(std::string_view zone) {
    if (zone == "Z" || zone == "z") return 0;
    int hours = 0;
    int minutes = 0;
    const bool shaped = zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':';
    if (!shaped || !read_number(zone, 1, 2, hours) || !read_number(zone, 4, 2, minutes)) {
        return std::nullopt;
    }
    const std::int64_t seconds = hours * 3600 + minutes * 60;
    return zone[0] == '-' ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> parse_rfc3339_ns(std::string_view text) {
    std::array<int, 6> fields{};
    constexpr std::array<std::size_t, 6> starts{0, 5, 8, 11, 14, 17};
    constexpr std::array<std::size_t, 6> widths{4, 2, 2, 2, 2, 2};
    if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
        text[16] != ':' || (text[10] != 'T' && text[10] != 't')) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (!read_number(text, starts[i], widths[i], fields[i])) return std::nullopt;
    }
    std::size_t at = 19;
    std::int64_t nanoseconds = 0;
    if (text[at] == '.') {
        std::int64_t scale = 100'000'000;
        for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) {
            nanoseconds += (text[at] - '0') * scale;  // digits beyond nine count nothing
        }
    }
    const std::optional<std::int64_t> offset = offset_seconds(text.substr(at));
    using namespace std::chrono;
    const year_month_day day{year{fields[0]}, month{static_cast<unsigned>(fields[1])},
                             std::chrono::day{static_cast<unsigned>(fields[2])}};
    const bool in_range = fields[0] >= 1970 && fields[0] < 2200 && day.ok() && fields[3] < 24 &&
                          fields[4] < 60 && fields[5] <= 60;
    if (!offset || !in_range) return std::nullopt;
    const std::int64_t days = sys_days{day}.time_since_epoch().count();
    const std::int64_t seconds =
        days * 86'400 + fields[3] * 3600 + fields[4] * 60 + fields[5] - *offset;
    return seconds * 1'000'000'000 + nanoseconds;
}

std::string format_rfc3339_seconds(std::int64_t time_ns) {
    using namespace std::chrono;
    const sys_seconds at{floor<seconds>(nanoseconds{time_ns})};
    const sys_days day = floor<days>(at);
    const year_month_day date{day};
    const hh_mm_ss clock{at - day};
    std::array<char, 40> text{};
    const int length = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
        static_cast<int>(clock.seconds().count()));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string pod_hash(std::string_view pod_uid) {
    std::array<char, 20> text{};
    const int length = std::snprintf(text.data(), text.size(), "%016llx",
                                     static_cast<unsigned long long>(hash64(pod_uid)));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string format_token(std::string_view pod_uid, Position position) {
    return pod_hash(pod_uid) + "." + std::to_string(position.time_ns) + "." +
           std::to_string(position.ordinal);
}

std::optional<std::vector<Token>> parse_tokens(std::string_view text) {
    std::vector<Token> tokens;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view one = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t first = one.find('.');
        const std::size_t second = first == one.npos ? one.npos : one.find('.', first + 1);
        if (second == one.npos || first != 16) return std::nullopt;
        Token token{std::string{one.substr(0, first)}, {}};
        const char* end = one.data() + one.size();
        const auto time =
            std::from_chars(one.data() + first + 1, one.data() + second, token.position.time_ns);
        const auto ordinal = std::from_chars(one.data() + second + 1, end, token.position.ordinal);
        if (time.ec != std::errc{} || time.ptr != one.data() + second ||
            ordinal.ec != std::errc{} || ordinal.ptr != end) {
            return std::nullopt;
        }
        tokens.push_back(std::move(token));
    }
    return tokens;
}

void LineSplitter::feed(std::string_view bytes, std::vector<RawLine>& lines) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        std::string_view piece = bytes.substr(0, end);
        if (!head_is_known_) take_head(piece);
        append(piece);
        if (end == bytes.npos) {
            screen_.feed(piece);
            ++serial_;
            return;
        }
        take(lines);
        bytes.remove_prefix(end + 1);
    }
}

void LineSplitter::take_head(std::string_view& piece) {
    const std::size_t space = piece.find(' ');
    const std::size_t wanted = std::min(space == piece.npos ? piece.size() : space + 1,
                                        kStampBytesMax - std::min(kStampBytesMax, head_.size()));
    head_ += piece.substr(0, wanted);
    piece.remove_prefix(wanted);
    if (head_.ends_with(' ') || head_.size() >= kStampBytesMax) settle_head();
}

void LineSplitter::settle_head() {
    head_is_known_ = true;
    std::string head = std::move(head_);
    head_.clear();
    std::string_view stamp = head;
    if (stamp.ends_with(' ')) stamp.remove_suffix(1);
    if (parse_rfc3339_ns(stamp)) {
        time_ = stamp;
        return;
    }
    append(head);
    screen_.feed(head);
}

void LineSplitter::append(std::string_view piece) {
    const std::size_t kept = line_bytes_max_ + kCharacterBytesMax;
    if (piece.size() > kept) {  // what comes before its last part need not be copied
        cut_ += text_.size() + piece.size() - kept;
        text_.clear();
        piece.remove_prefix(piece.size() - kept);
    }
    text_ += piece;
    if (text_.size() > 2 * line_bytes_max_) shorten(line_bytes_max_);
}

// From the front, and not inside a character.
void LineSplitter::shorten(std::size_t bytes_max) {
    if (text_.size() <= bytes_max) return;
    std::size_t begin = text_.size() - bytes_max;
    while (begin < text_.size() && (static_cast<unsigned char>(text_[begin]) & 0xc0) == 0x80) {
        ++begin;
    }
    cut_ += begin;
    text_.erase(0, begin);
}

void LineSplitter::take(std::vector<RawLine>& lines) {
    if (!head_is_known_) settle_head();
    if (text_.ends_with('\r')) text_.pop_back();
    shorten(line_bytes_max_);
    lines.push_back({std::move(time_), std::move(text_), cut_});
    forget_partial();
}

void LineSplitter::finish(std::vector<RawLine>& lines) {
    if (!head_.empty() || !time_.empty() || !text_.empty()) take(lines);
}

void LineSplitter::forget_partial() {
    head_.clear();
    head_is_known_ = false;
    time_.clear();
    text_.clear();
    cut_ = 0;
    screen_.clear();
    ++serial_;
}

void mark_cut(RawLine& line) {
    if (line.bytes_cut == 0) return;
    line.text.insert(0, "[line cut: " + std::to_string(line.bytes_cut) + " bytes before this] ");
}

}  // namespace gpuctl::logs
