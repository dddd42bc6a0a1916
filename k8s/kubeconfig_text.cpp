#include "k8s/kubeconfig_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuctl::k8s {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool valid_port(std::string_view port) {
    if (port.empty() || port.size() > 5) return false;
    unsigned value = 0;
    for (const char c : port) {
        if (c < '0' || c > '9') return false;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value > 0 && value < 65'536;
}

Error bad_url(std::string why) {
    return make_error(ErrorCode::InvalidConfiguration, std::move(why));
}

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

Result<ServerUrl> parse_server_url(std::string_view url) {
    ServerUrl out;
    if (url.starts_with("https://")) {
        url.remove_prefix(8);
    } else if (url.starts_with("http://")) {
        out.https = false;
        url.remove_prefix(7);
    } else {
        return bad_url("must begin with https:// or http://");
    }
    const std::size_t slash = std::min(url.find('/'), url.size());
    std::string_view authority = url.substr(0, slash);
    std::string_view path = url.substr(slash);
    if (url.find_first_of("?# ") != url.npos) return bad_url("must not carry a query or a blank");
    if (authority.find('@') != authority.npos) return bad_url("must not carry a user name");
    while (path.ends_with('/')) path.remove_suffix(1);
    out.base_path = path;
    out.port = out.https ? "443" : "80";
    if (authority.starts_with('[')) {
        const std::size_t close = authority.find(']');
        if (close == authority.npos) return bad_url("has an unclosed [ in its host");
        out.host = authority.substr(1, close - 1);
        authority.remove_prefix(close + 1);
    } else {
        const std::size_t colon = std::min(authority.find(':'), authority.size());
        out.host = authority.substr(0, colon);
        authority.remove_prefix(colon);
    }
    if (out.host.empty()) return bad_url("names no host");
    if (!authority.empty()) {
        if (authority.front() != ':' || !valid_port(authority.substr(1))) {
            return bad_url("has an invalid port");
        }
        out.port = authority.substr(1);
    }
    return out;
}

}  // namespace gpuctl::k8s
