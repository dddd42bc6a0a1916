#pragma once
// Lines of a pod's log and their positions. A position is what a reader resumes from; it is made of
// what the line itself carries (its timestamp, and its number among lines of the same timestamp),
// so it stays good across a reopened upstream and a restarted daemon.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Says at the end of a line that was cut how much is missing.
void mark_cut(RawLine& line);

// Cuts a byte stream into lines, each at most `line_bytes_max` long: what is longer is dropped from
// its end and counted, so that a line without an end costs no memory.
class LineSplitter {
public:
    explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
    void feed(std::string_view bytes, std::vector<RawLine>& lines);
    // The unfinished last line, when the log is really over.
    void finish(std::vector<RawLine>& lines);
    // Forgets the unfinished line: the upstream broke off and will send it again.
    void forget_partial();

private:
    void take(std::vector<RawLine>& lines);

    std::size_t line_bytes_max_;
    std::string partial_;
    std::uint64_t cut_ = 0;
};

}  // namespace gpuctl::logs
