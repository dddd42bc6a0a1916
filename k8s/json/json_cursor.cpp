#include "k8s/json/json_cursor.hpp"

#include <array>
#include <charconv>
#include <cstring>

#include "k8s/json/json_text.hpp"

namespace gpuctl::k8s {

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Bytes at which skipping an object or array has to think.
constexpr auto kStructural = [] {
    std::array<bool, 256> table{};
    for (const char c : {'"', '{', '}', '[', ']'}) table[static_cast<unsigned char>(c)] = true;
    return table;
}();

}  // namespace

void JsonCursor::fail() {
    ok_ = false;
    at_ = end_;
}

void JsonCursor::skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
}

bool JsonCursor::accept(char token) {
    skip_space();
    if (at_ == end_ || *at_ != token) return false;
    ++at_;
    return true;
}

void JsonCursor::expect(char token) {
    if (!accept(token)) fail();
}

bool JsonCursor::open(char bracket) {
    if (accept(bracket)) return true;
    skip();
    return false;
}

void JsonCursor::skip_string() {
    ++at_;  // the opening quote
    for (;;) {
        const auto* quote = static_cast<const char*>(
            at_ == end_ ? nullptr : std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
        if (quote == nullptr) return fail();
        const char* backslash = quote;
        while (backslash != at_ && backslash[-1] == '\\') --backslash;
        at_ = quote + 1;
        if ((quote - backslash) % 2 == 0) return;
    }
}

void JsonCursor::skip_nested() {
    std::size_t depth = 0;
    while (at_ != end_) {
        const char c = *at_;
        if (!kStructural[static_cast<unsigned char>(c)]) {
            ++at_;
        } else if (c == '"') {
            skip_string();
        } else if (c == '{' || c == '[') {
            ++depth;
            ++at_;
        } else {
            ++at_;
            if (--depth == 0) return;
        }
    }
    fail();
}

void JsonCursor::skip() {
    skip_space();
    if (at_ == end_) return fail();
    if (*at_ == '"') return skip_string();
    if (*at_ == '{' || *at_ == '[') return skip_nested();
    const char* from = at_;
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && !is_space(*at_)) ++at_;
    if (at_ == from) fail();
}

std::string_view JsonCursor::raw() {
    skip_space();
    const char* from = at_;
    skip();
    return ok_ ? std::string_view(from, static_cast<std::size_t>(at_ - from)) : std::string_view{};
}

std::string_view JsonCursor::decode(const char* from, const char* to) {
    auto text = json_unquote(std::string_view(from, static_cast<std::size_t>(to - from)));
    if (!text) {
        fail();
        return {};
    }
    return decoded_.emplace_back(std::move(*text));
}

std::string_view JsonCursor::quoted() {
    const char* from = at_;
    skip_string();
    if (!ok_) return {};
    const std::string_view inside(from + 1, static_cast<std::size_t>(at_ - from) - 2);
    if (std::memchr(inside.data(), '\\', inside.size()) == nullptr) return inside;
    return decode(from, at_);
}

std::string_view JsonCursor::string() {
    skip_space();
    if (at_ != end_ && *at_ == '"') return quoted();
    skip();
    return {};
}

std::string_view JsonCursor::scalar() {
    skip_space();
    if (at_ != end_ && *at_ == '"') return quoted();
    const std::string_view text = raw();
    return text.starts_with('{') || text.starts_with('[') || text == "null" ? std::string_view{}
                                                                            : text;
}

std::string_view JsonCursor::key_text() {
    skip_space();
    if (at_ == end_ || *at_ != '"') {
        fail();
        return {};
    }
    const std::string_view key = quoted();
    expect(':');
    return key;
}

std::int64_t JsonCursor::integer() {
    const std::string_view text = raw();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

bool JsonCursor::boolean() { return raw() == "true"; }

}  // namespace gpuctl::k8s
