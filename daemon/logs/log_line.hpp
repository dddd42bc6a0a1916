#pragma once
// Lines of a pod's log and their positions. A reader resumes from a position; it is derived from
// the line itself (its timestamp, and its number among lines of the same timestamp), so it stays
// valid across a reopened upstream and a restarted daemon.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/screen_line.hpp"

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

// The time that a log line begins with (RFC 3339, from 1970 to 2199) in nanoseconds since 1970.
std::optional<std::int64_t> parse_stamp_ns(std::string_view text);

struct RawLine {
    std::string time;  // as sent; empty when the line carries none
    std::string text;
    std::uint64_t bytes_cut = 0;
};

// Puts the number of missing bytes at the start of a line that was cut.
void mark_cut(RawLine& line);

// A line without its end yet, as a terminal shows it.
struct PartialLine {
    std::string time;
    std::string text;
    bool redrawn = false;  // with carriage returns: it changes rather than grows
};

// Cuts a byte stream into lines, each at most `line_bytes_max` long: of a longer line the newest
// part is stored and the rest counted, so that a line without an end has bounded memory.
class LineSplitter {
public:
    explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
    void feed(std::string_view bytes, std::vector<RawLine>& lines);
    // The unfinished last line, when the log has ended.
    void finish(std::vector<RawLine>& lines);
    // Drops the unfinished line: the upstream broke off and will send it again.
    void forget_partial();

    // Whether there is an unfinished line with more than its time.
    [[nodiscard]] bool has_partial() const { return !text_.empty(); }
    [[nodiscard]] PartialLine partial() const {
        return {time_, screen_.text(), screen_.was_redrawn()};
    }
    [[nodiscard]] const std::string& partial_time() const { return time_; }
    // A number that changes whenever partial() changes.
    [[nodiscard]] std::uint64_t partial_serial() const { return serial_; }

private:
    // The start of the line, until it is known whether it is a time.
    void take_head(std::string_view& piece);
    void settle_head();
    void append(std::string_view piece);
    void shorten(std::size_t bytes_max);
    void emit_line(std::vector<RawLine>& lines);

    std::size_t line_bytes_max_;
    std::string head_;
    bool head_is_known_ = false;
    std::string time_;
    std::string text_;  // at most twice as long as a line may be
    std::uint64_t cut_ = 0;
    text::ScreenLine screen_;  // of text_, when the current bytes do not end the line
    std::uint64_t serial_ = 0;
};

}  // namespace gpuctl::logs
