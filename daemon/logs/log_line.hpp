#pragma once
// Lines of a pod's log and their positions. A position is what a reader resumes from; it is made of
// what the line itself carries (its timestamp, and its number among lines of the same timestamp),
// so it stays good across a reopened upstream and a restarted daemon.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/text/screen_line.hpp"

namespace gpuctl::logs {

struct Position {
    std::int64_t time_ns = 0;  // since 1970
    std::int64_t ordinal = 0;  // among lines of this timestamp, from 0
    friend auto operator<=>(const Position&, const Position&) = default;
};

// "<hash of the pod's uid>.<time_ns>.<ordinal>", safe inside a URL.
std::string format_token(std::string_view pod_uid, Position position);

struct Token {
    std::string pod_hash;
    Position position;
};
// Tokens of several pods are separated by commas. nullopt: not a token.
std::optional<std::vector<Token>> parse_tokens(std::string_view text);
std::string pod_hash(std::string_view pod_uid);

// 2026-11-21T02:51:05.123456789Z or with an offset; fraction and its length are free.
std::optional<std::int64_t> parse_rfc3339_ns(std::string_view text);
// Whole seconds: what `sinceTime` of the log endpoint understands, rounded down.
std::string format_rfc3339_seconds(std::int64_t time_ns);

struct RawLine {
    std::string time;  // as sent; empty when the line carries none
    std::string text;
    std::uint64_t bytes_cut = 0;
};

// Says at the beginning of a line that was cut how much is missing there.
void mark_cut(RawLine& line);

// A line without its end yet, as a terminal shows it.
struct PartialLine {
    std::string time;
    std::string text;
    bool redrawn = false;  // with carriage returns: it changes rather than grows
};

// Cuts a byte stream into lines, each at most `line_bytes_max` long: of what is longer the newest
// part is kept and the rest counted, so that a line without an end costs no memory.
class LineSplitter {
public:
    explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
    void feed(std::string_view bytes, std::vector<RawLine>& lines);
    // The unfinished last line, when the log is really over.
    void finish(std::vector<RawLine>& lines);
    // Forgets the unfinished line: the upstream broke off and will send it again.
    void forget_partial();

    // Whether there is an unfinished line, and more of it than its time.
    [[nodiscard]] bool has_partial() const { return !text_.empty(); }
    [[nodiscard]] PartialLine partial() const {
        return {time_, screen_.text(), screen_.was_redrawn()};
    }
    [[nodiscard]] const std::string& partial_time() const { return time_; }
    // Another number whenever partial() is another.
    [[nodiscard]] std::uint64_t partial_serial() const { return serial_; }

private:
    // What the line begins with, until it is known whether it is a time.
    void take_head(std::string_view& piece);
    void settle_head();
    void append(std::string_view piece);
    void shorten(std::size_t bytes_max);
    void take(std::vector<RawLine>& lines);

    std::size_t line_bytes_max_;
    std::string head_;
    bool head_is_known_ = false;
    std::string time_;
    std::string text_;  // at most twice as long as a line may be
    std::uint64_t cut_ = 0;
    text::ScreenLine screen_;  // of text_, when the bytes at hand do not end the line
    std::uint64_t serial_ = 0;
};

}  // namespace gpuctl::logs
