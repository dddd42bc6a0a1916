#include "text/screen_line.hpp"

#include <algorithm>
#include <charconv>

#include "text/characters.hpp"

namespace gpuctl::text {
namespace {

constexpr std::size_t kCellsMax = 4'096;
constexpr std::size_t kParametersMax = 32;
constexpr std::size_t kTabWidth = 8;
constexpr char32_t kEscape = 0x1b;
constexpr char32_t kBell = 0x07;
constexpr char32_t kReplacement = 0xfffd;

bool moves_cursor(char c) { return c == '\r' || c == '\b' || c == '\x1b'; }

void append_utf8(char32_t code, std::string& out) {
    if (code < 0x80) {
        out.push_back(static_cast<char>(code));
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    out.push_back(static_cast<char>(leads[more] | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) {
        out.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
    }
}

// How many bytes a character has that begins with this one; 1 when none does.
std::size_t length_of(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

}  // namespace

void ScreenLine::feed(std::string_view bytes) {
    std::string joined;
    if (!pending_.empty()) {
        joined = pending_ + std::string{bytes};
        pending_.clear();
        bytes = joined;
    }
    for (std::size_t at = 0; at < bytes.size();) {
        const Decoded character = decode_utf8(bytes, at);
        if (character.bytes > 0) {
            parse(character.code);
            at += character.bytes;
        } else if (bytes.size() - at < length_of(bytes[at])) {
            pending_ = bytes.substr(at);
            return;
        } else {
            parse(kReplacement);
            ++at;
        }
    }
}

void ScreenLine::clear() { *this = ScreenLine{}; }

void ScreenLine::parse(char32_t character) {
    switch (state_) {
        case State::plain:
            if (character != kEscape) return put(character);
            state_ = State::escape;
            return;
        case State::escape:
            parameters_.clear();
            state_ = character == '['   ? State::sequence
                     : character == ']' ? State::string
                                        : State::plain;
            return;
        case State::sequence:
            if (character >= 0x40 && character < 0x7f) {
                state_ = State::plain;
                return carry_out(character);
            }
            if (parameters_.size() < kParametersMax && character < 0x80) {
                parameters_.push_back(static_cast<char>(character));
            }
            return;
        case State::string:
            if (character == kBell) state_ = State::plain;
            if (character == kEscape) state_ = State::string_escape;
            return;
        case State::string_escape:
            state_ = State::plain;
            return;
    }
}

void ScreenLine::put(char32_t character) {
    if (character == '\r') {
        cursor_ = 0;
        return;
    }
    if (character == '\b') {
        if (cursor_ > 0) --cursor_;
        return;
    }
    if (character == '\t') {
        cursor_ += kTabWidth - cursor_ % kTabWidth;
        if (cells_.size() < cursor_) cells_.resize(cursor_, U' ');
        return;
    }
    if (character < 0x20 || character == 0x7f) return;
    if (cursor_ >= kCellsMax) {
        const std::size_t half = kCellsMax / 2;
        cells_.erase(cells_.begin(), cells_.begin() + static_cast<std::ptrdiff_t>(half));
        cursor_ -= half;
    }
    if (cursor_ < cells_.size()) {
        was_redrawn_ = true;
        cells_[cursor_] = character;
    } else {
        cells_.resize(cursor_, U' ');
        cells_.push_back(character);
    }
    ++cursor_;
}

std::size_t ScreenLine::parameter(std::size_t otherwise) const {
    std::size_t value = otherwise;
    std::from_chars(parameters_.data(), parameters_.data() + parameters_.size(), value);
    return std::min(value, kCellsMax - 1);
}

// The control functions that stay within one line; colours and all others do not change it.
void ScreenLine::carry_out(char32_t final) {
    const auto at = static_cast<std::ptrdiff_t>(std::min(cursor_, cells_.size()));
    switch (final) {
        case 'K':  // erase: 0 to the end, 1 to the beginning, 2 all
            if (!cells_.empty()) was_redrawn_ = true;
            if (parameter(0) == 0) cells_.erase(cells_.begin() + at, cells_.end());
            if (parameter(0) == 1) std::fill(cells_.begin(), cells_.begin() + at, U' ');
            if (parameter(0) == 2) cells_.clear();
            return;
        case 'C':
            cursor_ = std::min(cursor_ + std::max<std::size_t>(parameter(1), 1), kCellsMax - 1);
            return;
        case 'D':
            cursor_ -= std::min(cursor_, std::max<std::size_t>(parameter(1), 1));
            return;
        case 'G':
            cursor_ = std::max<std::size_t>(parameter(1), 1) - 1;
            return;
        default:
            return;
    }
}

std::string ScreenLine::text() const {
    std::size_t end = cells_.size();
    while (end > 0 && cells_[end - 1] == U' ') --end;
    std::string out;
    out.reserve(end);
    for (std::size_t i = 0; i < end; ++i) append_utf8(cells_[i], out);
    return out;
}

std::string on_screen(std::string_view line) {
    if (std::none_of(line.begin(), line.end(), moves_cursor)) return std::string{line};
    ScreenLine screen;
    screen.feed(line);
    return screen.text();
}

}  // namespace gpuctl::text
