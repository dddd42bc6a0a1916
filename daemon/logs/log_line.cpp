#include "daemon/logs/log_line.hpp"

#include <algorithm>
#include <charconv>

#include "scheduler/base/hash.hpp"
#include "text/hex.hpp"
#include "text/time.hpp"

namespace gpuctl::logs {
namespace {

// RFC 3339 with nanoseconds and offset, and a space.
constexpr std::size_t kStampBytesMax = 40;
constexpr std::size_t kCharacterBytesMax = 4;

}  // namespace

std::optional<std::int64_t> parse_stamp_ns(std::string_view text) {
    constexpr std::int64_t seconds_max = 7'258'118'400;  // 2200: nanoseconds fit 64 bits
    const std::optional<text::TimeStamp> stamp = text::parse_rfc3339(text);
    if (!stamp || stamp->seconds < 0 || stamp->seconds >= seconds_max) return std::nullopt;
    return stamp->seconds * 1'000'000'000 + stamp->nanoseconds;
}

std::string pod_hash(std::string_view pod_uid) { return text::hex16(hash64(pod_uid)); }

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
        emit_line(lines);
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
    if (parse_stamp_ns(stamp)) {
        time_ = stamp;
        return;
    }
    append(head);
    screen_.feed(head);
}

void LineSplitter::append(std::string_view piece) {
    const std::size_t kept = line_bytes_max_ + kCharacterBytesMax;
    if (piece.size() > kept) {  // text before its last part need not be copied
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

void LineSplitter::emit_line(std::vector<RawLine>& lines) {
    if (!head_is_known_) settle_head();
    if (text_.ends_with('\r')) text_.pop_back();
    shorten(line_bytes_max_);
    lines.push_back({std::move(time_), std::move(text_), cut_});
    forget_partial();
}

void LineSplitter::finish(std::vector<RawLine>& lines) {
    if (!head_.empty() || !time_.empty() || !text_.empty()) emit_line(lines);
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
