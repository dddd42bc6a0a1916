#include "net/http/http_guard.hpp"

#include <algorithm>

namespace gpuctl::net {

namespace {

GuardRefusal bad(std::string message) {
    return {400, "BadRequest", "read the request header: " + std::move(message)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_http_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
    });
}

bool equals(std::string_view text, std::string_view lower) {
    const auto same = [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
    };
    return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(), same);
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The next line without its CRLF; scan_header has made sure that there is one.
std::string_view read_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    return line;
}

struct Framing {
    bool http_1_0 = false;
    int hosts = 0;
    int lengths = 0;
    int encodings = 0;
    std::string_view encoding;
};

std::optional<GuardRefusal> check_request_line(std::string_view line, GuardLimits limits,
                                               Framing& framing) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) {
        return bad("the request line is not METHOD TARGET VERSION");
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_http_token(method) || method.size() > 32) return bad("the method is not a token");
    if (target.size() > limits.target_bytes_max) {
        return GuardRefusal{414, "HeaderTooLarge",
                            "read the request header: the target is longer than " +
                                std::to_string(limits.target_bytes_max) + " bytes"};
    }
    const bool clean = std::all_of(target.begin(), target.end(),
                                   [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
    const bool origin_form = !target.empty() && target.front() == '/';
    if (!clean || !(origin_form || (target == "*" && method == "OPTIONS"))) {
        return bad("the target is not a path");
    }
    framing.http_1_0 = version == "HTTP/1.0";
    if (!framing.http_1_0 && version != "HTTP/1.1") {
        const bool http = version.substr(0, 5) == "HTTP/";
        return GuardRefusal{http ? 505 : 400, "BadRequest",
                            "read the request header: only HTTP/1.1 and HTTP/1.0 are supported"};
    }
    return std::nullopt;
}

bool is_host(std::string_view value) {
    constexpr std::string_view marks = "-._~:[]%";
    return std::all_of(value.begin(), value.end(), [&](char c) {
        return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
    });
}

bool is_length(std::string_view value) {
    // 18 digits cannot overflow 63 bits; no sign, no list ("5, 5"), no blank inside.
    return !value.empty() && value.size() <= 18 &&
           std::all_of(value.begin(), value.end(), is_digit);
}

std::optional<GuardRefusal> check_field(std::string_view line, Framing& framing) {
    if (line.front() == ' ' || line.front() == '\t') {
        return bad("a field is folded over several lines");
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) {
        return bad("a field has no valid name before its colon");
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    const bool printable = std::all_of(value.begin(), value.end(), [](char c) {
        return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
    });
    if (!printable) return bad("a field holds a control character");
    if (equals(name, "host")) {
        if (++framing.hosts > 1) return bad("Host is given twice");
        if (!is_host(value)) return bad("Host is not a host and port");
    } else if (equals(name, "content-length")) {
        if (++framing.lengths > 1) return bad("Content-Length is given twice");
        if (!is_length(value)) return bad("Content-Length is not a number of bytes");
    } else if (equals(name, "transfer-encoding")) {
        if (++framing.encodings > 1) return bad("Transfer-Encoding is given twice");
        framing.encoding = value;
    } else if (equals(name, "expect") && !equals(value, "100-continue")) {
        return GuardRefusal{417, "BadRequest",
                            "read the request header: only Expect: 100-continue is supported"};
    }
    return std::nullopt;
}

std::optional<GuardRefusal> check_framing(const Framing& framing) {
    if (framing.hosts == 0 && !framing.http_1_0) return bad("Host is missing");
    if (framing.encodings == 0) return std::nullopt;
    if (framing.http_1_0) return bad("Transfer-Encoding does not exist in HTTP/1.0");
    if (framing.lengths > 0)
        return bad("Content-Length and Transfer-Encoding must not both be given");
    if (equals(framing.encoding, "chunked")) return std::nullopt;
    const std::size_t comma = framing.encoding.rfind(',');
    const bool ends_in_chunked = comma != std::string_view::npos &&
                                 equals(trim(framing.encoding.substr(comma + 1)), "chunked");
    if (!ends_in_chunked) return bad("Transfer-Encoding does not end with chunked");
    return GuardRefusal{501, "BadRequest",
                        "read the request header: only the transfer coding chunked is supported"};
}

}  // namespace

HeaderScan scan_header(std::string_view bytes, std::size_t scanned) {
    // Three bytes back: the end may straddle what was scanned before.
    for (std::size_t i = scanned > 3 ? scanned - 3 : 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        if (c == '\0') return {HeaderScan::State::malformed};
        if (c == '\n' && (i == 0 || bytes[i - 1] != '\r')) return {HeaderScan::State::malformed};
        if (c == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n') {
            return {HeaderScan::State::malformed};
        }
        if (c == '\n' && i >= 3 && bytes[i - 2] == '\n') {
            return {HeaderScan::State::complete, i + 1};
        }
    }
    return {};
}

std::optional<GuardRefusal> guard_header(std::string_view header, GuardLimits limits) {
    std::string_view rest = header;
    Framing framing;
    if (auto refusal = check_request_line(read_line(rest), limits, framing)) return refusal;
    std::size_t fields = 0;
    for (std::string_view line = read_line(rest); !line.empty(); line = read_line(rest)) {
        if (++fields > limits.fields_max) {
            return GuardRefusal{431, "HeaderTooLarge",
                                "read the request header: more than " +
                                    std::to_string(limits.fields_max) + " fields"};
        }
        if (auto refusal = check_field(line, framing)) return refusal;
    }
    return check_framing(framing);
}

}  // namespace gpuctl::net
