#include "scheduler/base/compact_uid.hpp"

#include "scheduler/base/hash.hpp"

namespace gpuctl {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kUuidLength = 36;

constexpr bool is_dash_place(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

int value_of(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

}  // namespace

CompactUid compact_uid(std::string_view text) {
    const CompactUid other{hash64(text), hash64(text, mix64(text.size() + 1)), false};
    if (text.size() != kUuidLength) return other;
    CompactUid uid{0, 0, true};
    for (std::size_t i = 0, digits = 0; i < kUuidLength; ++i) {
        if (is_dash_place(i)) {
            if (text[i] != '-') return other;
            continue;
        }
        const int value = value_of(text[i]);
        if (value < 0) return other;
        std::uint64_t& half = digits++ < 16 ? uid.high : uid.low;
        half = half << 4 | static_cast<std::uint64_t>(value);
    }
    return uid;
}

std::string text_of(const CompactUid& uid) {
    std::string text;
    if (!uid.is_uuid) return text;
    for (int digit = 0; digit < 32; ++digit) {
        if (is_dash_place(text.size())) text += '-';
        const std::uint64_t half = digit < 16 ? uid.high : uid.low;
        text += kDigits[half >> (60 - 4 * (digit % 16)) & 15];
    }
    return text;
}

}  // namespace gpuctl
