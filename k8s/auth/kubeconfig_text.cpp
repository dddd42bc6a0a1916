#include "k8s/auth/kubeconfig_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuctl::k8s {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int count = 0;    // of characters, padding included
    int padding = 0;  // seen so far
    for (const char c : text) {
        if (c == '\n' || c == '\r' || c == ' ') continue;
        ++count;
        if (c == '=') {
            if (++padding > 2) return std::nullopt;
            continue;
        }
        const std::size_t value = kAlphabet.find(c);
        if (value == kAlphabet.npos || padding > 0) return std::nullopt;
        bits = (bits << 6) | static_cast<std::uint32_t>(value);
        if (count % 4 != 1) {
            const int shift = count % 4 == 2 ? 4 : count % 4 == 3 ? 2 : 0;
            out.push_back(static_cast<char>((bits >> shift) & 0xff));
        }
    }
    if (count % 4 != 0) return std::nullopt;
    return out;
}

std::string encode_base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t have = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            bits = (bits << 8) |
                   (i < have ? static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i]))
                             : 0);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            out.push_back(i <= have ? kAlphabet[(bits >> (18 - 6 * i)) & 63] : '=');
        }
    }
    return out;
}

}  // namespace gpuctl::k8s
