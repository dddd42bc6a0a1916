#include "text/url.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "text/characters.hpp"

namespace gpuctl::text {
namespace {

constexpr std::size_t kUrlBytesMax = 2'048;
constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kZoneBytesMax = 15;  // IF_NAMESIZE without its end
constexpr std::size_t kShownMax = 100;
constexpr unsigned kPortMax = 65'535;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

Error refuse(std::string why) {
    return make_error(ErrorCode::InvalidConfiguration, std::move(why));
}

// Characters that no part of an address may hold.
std::optional<Error> bad_character(std::string_view text) {
    if (text.empty()) return refuse("is empty");
    if (text.size() > kUrlBytesMax) {
        return refuse("has " + std::to_string(text.size()) + " bytes; at most " +
                      std::to_string(kUrlBytesMax) + " are allowed");
    }
    if (std::string problem = problem_with_invisible(text); !problem.empty()) {
        return refuse(std::move(problem));
    }
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const std::string where =
            " (character " + std::to_string(characters_before(text, at) + 1) + ")";
        if (c == ' ') return refuse("contains a space" + where);
        if (c == '\\') return refuse("contains a backslash" + where + "; paths have /");
        if (static_cast<unsigned char>(c) >= 0x80) {
            return refuse("contains a character beyond ASCII" + where +
                          "; write a host in its xn-- form, and a path percent-encoded");
        }
    }
    return std::nullopt;
}

Result<std::string> parse_ipv6(std::string_view text) {
    const std::size_t percent = std::min(text.find('%'), text.size());
    const std::string address = lower_case(text.substr(0, percent));
    in6_addr parsed{};
    if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
        return refuse("has \"" + std::string{text.substr(0, kShownMax)} +
                      "\" as host, which is not an IPv6 address");
    }
    if (percent == text.size()) return address;
    std::string_view zone = text.substr(percent + 1);
    if (zone.starts_with("25") && zone.size() > 2) zone.remove_prefix(2);  // %25eth0, RFC 6874
    const bool is_zone = !zone.empty() && zone.size() <= kZoneBytesMax &&
                         std::all_of(zone.begin(), zone.end(), [](char c) {
                             return is_digit(c) || is_letter(c) || c == '-' || c == '.' || c == '_';
                         });
    if (!is_zone) {
        return refuse("has the IPv6 zone \"" + std::string{zone.substr(0, kShownMax)} +
                      "\", which is not the name of an interface");
    }
    return address + "%" + std::string{zone};
}

std::string problem_with_host_label(std::string_view label, std::string_view host) {
    if (label.empty()) return "has an empty part in its host " + std::string{host};
    if (label.size() > kLabelBytesMax) {
        return "has a part of " + std::to_string(label.size()) +
               " characters in its host; at most " + std::to_string(kLabelBytesMax) +
               " are allowed";
    }
    for (const char c : label) {
        if (is_digit(c) || is_letter(c) || c == '-' || c == '_') continue;
        if (c == '%') return "has a % in its host; a host is not percent-encoded";
        return std::string{"has a '"} + c + "' in its host";
    }
    if (label.front() == '-' || label.back() == '-') {
        return "has a part that begins or ends with a hyphen in its host " + std::string{host};
    }
    return "";
}

// inet_aton() also takes 127.1, 0x7f.1 and 010.0.0.1 (as 8.0.0.1).
Result<std::string> parse_ipv4(std::string host) {
    in_addr parsed{};
    if (inet_pton(AF_INET, host.c_str(), &parsed) == 1) return host;
    return refuse("has \"" + host.substr(0, kShownMax) +
                  "\" as host, which is not an IPv4 address: four numbers from 0 to 255 without "
                  "leading zeros");
}

Result<std::string> parse_name(std::string_view text) {
    if (text.empty()) return refuse("names no host");
    if (text.size() > kHostBytesMax) {
        return refuse("has a host of " + std::to_string(text.size()) + " characters; at most " +
                      std::to_string(kHostBytesMax) + " are allowed");
    }
    std::string_view rest = text;
    if (rest.size() > 1 && rest.ends_with('.')) rest.remove_suffix(1);
    std::string_view last;
    while (!rest.empty()) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        last = rest.substr(0, dot);
        if (std::string problem = problem_with_host_label(last, text); !problem.empty()) {
            return refuse(std::move(problem));
        }
        if (dot + 1 == rest.size())
            return refuse("has an empty part in its host " + std::string{text});
        rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    std::string host = lower_case(text);
    const bool is_number = std::all_of(last.begin(), last.end(), is_digit) ||
                           last.starts_with("0x") || last.starts_with("0X");
    if (is_number) return parse_ipv4(std::move(host));
    return host;
}

// HOST or [IPv6] and what follows it: "" or ":PORT".
struct Authority {
    std::string host;
    std::string_view behind;
};

Result<Authority> split_authority(std::string_view text, bool may_lack_host) {
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos) return refuse("has a [ without a ]");
        Result<std::string> host = parse_ipv6(text.substr(1, close - 1));
        if (!host) return host.error();
        const std::string_view behind = text.substr(close + 1);
        if (!behind.empty() && behind.front() != ':') {
            return refuse("has \"" + std::string{behind.substr(0, kShownMax)} +
                          "\" after the ] of its host");
        }
        return Authority{std::move(*host), behind};
    }
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (text.find("://") != text.npos) {
        return refuse("begins with a scheme; only HOST:PORT is allowed here");
    }
    if (text.find(':', std::min(colon + 1, text.size())) != text.npos) {
        return refuse("has several colons; write an IPv6 address in brackets: [" +
                      std::string{text.substr(0, kShownMax)} + "]");
    }
    if (colon == 0 && may_lack_host) return Authority{"", text};
    Result<std::string> host = parse_name(text.substr(0, colon));
    if (!host) return host.error();
    return Authority{std::move(*host), text.substr(colon)};
}

// pchar and "/" of RFC 3986; servers differ in whether they resolve "." and "..".
std::string problem_with_base_path(std::string_view path) {
    constexpr std::string_view marks = "-._~!$&'()*+,;=:@/%";
    for (std::size_t i = 0; i < path.size(); ++i) {
        const char c = path[i];
        if (!is_digit(c) && !is_letter(c) && marks.find(c) == marks.npos) {
            return std::string{"has a '"} + c + "' in its path; write it percent-encoded";
        }
        const bool is_encoded =
            c != '%' || (i + 2 < path.size() && is_hex(path[i + 1]) && is_hex(path[i + 2]));
        if (!is_encoded) return "has a % in its path without two hexadecimal digits after it";
    }
    while (!path.empty()) {
        path.remove_prefix(1);  // its slash
        const std::size_t end = std::min(path.find('/'), path.size());
        std::string segment = lower_case(path.substr(0, end));
        for (std::size_t dot = segment.find("%2e"); dot != segment.npos;
             dot = segment.find("%2e")) {
            segment.replace(dot, 3, ".");
        }
        if (segment.empty()) return "has an empty part in its path (//)";
        if (segment == "." || segment == "..") return "has a \"" + segment + "\" in its path";
        path.remove_prefix(end);
    }
    return "";
}

// The scheme without "://", if there is one of the two.
std::optional<bool> parse_scheme(std::string_view& text) {
    const std::size_t end = text.find("://");
    if (end == text.npos) return std::nullopt;
    const std::string scheme = lower_case(text.substr(0, end));
    if (scheme != "https" && scheme != "http") return std::nullopt;
    text.remove_prefix(end + 3);
    return scheme == "https";
}

}  // namespace

Result<std::uint16_t> parse_port(std::string_view text, std::uint16_t least) {
    const std::string range =
        "ports go from " + std::to_string(least) + " to " + std::to_string(kPortMax);
    const std::string shown = shown_address(text);
    if (text.empty()) return refuse("has a colon without a port after it");
    if (!std::all_of(text.begin(), text.end(), is_digit)) {
        return refuse("has \"" + shown + "\" as port; " + range);
    }
    if (text.size() > 1 && text.front() == '0') {
        return refuse("has port " + shown + "; write it without leading zeros");
    }
    unsigned value = 0;
    for (const char c : text) {
        value = value * 10 + static_cast<unsigned>(c - '0');
        if (value > kPortMax) return refuse("has port " + shown + "; " + range);
    }
    if (value < least) return refuse("has port " + shown + "; " + range);
    return static_cast<std::uint16_t>(value);
}

Result<std::string> parse_host(std::string_view text) {
    if (auto bad = bad_character(text)) return *bad;
    if (text.starts_with('[')) {
        Result<Authority> parts = split_authority(text, false);
        if (!parts) return parts.error();
        if (!parts->behind.empty()) return refuse("has a port after the host");
        return std::move(parts->host);
    }
    if (text.find(':') != text.npos) return parse_ipv6(text);
    return parse_name(text);
}

Result<HostPort> parse_host_port(std::string_view text) {
    if (auto bad = bad_character(text)) return *bad;
    Result<Authority> parts = split_authority(text, true);
    if (!parts) return parts.error();
    HostPort parsed{std::move(parts->host), std::nullopt};
    if (parts->behind.empty()) return parsed;
    const Result<std::uint16_t> port = parse_port(parts->behind.substr(1), 0);
    if (!port) return port.error();
    parsed.port = *port;
    return parsed;
}

Result<Url> parse_url(std::string_view text) {
    if (auto bad = bad_character(text)) return *bad;
    const std::optional<bool> is_https = parse_scheme(text);
    if (!is_https) return refuse("must begin with https:// or http://");
    if (text.find('#') != text.npos) return refuse("has a fragment (#); remove it");
    if (text.find('?') != text.npos) return refuse("has a query (?); remove it");
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view authority = text.substr(0, slash);
    std::string_view path = text.substr(slash);
    if (authority.find('@') != authority.npos) {
        return refuse(
            "has a user name before an @, which would be visible in logs: use a token or a "
            "certificate "
            "instead");
    }
    Result<Authority> parts = split_authority(authority, false);
    if (!parts) return parts.error();
    Url url{*is_https, std::move(parts->host), 0, ""};
    url.port = url.is_https ? 443 : 80;
    if (!parts->behind.empty()) {
        const Result<std::uint16_t> port = parse_port(parts->behind.substr(1));
        if (!port) return port.error();
        url.port = *port;
    }
    while (path.ends_with('/')) path.remove_suffix(1);
    if (std::string problem = problem_with_base_path(path); !problem.empty()) {
        return refuse(std::move(problem));
    }
    url.base_path = path;
    return url;
}

std::string to_string(const Url& url) {
    const std::string host = url.host.find(':') == url.host.npos ? url.host : "[" + url.host + "]";
    const bool is_own_port = url.port == (url.is_https ? 443 : 80);
    return (url.is_https ? "https://" : "http://") + host +
           (is_own_port ? "" : ":" + std::to_string(url.port)) + url.base_path;
}

std::string shown_address(std::string_view text) {
    std::string shown;
    const std::size_t scheme = text.find("://");
    const std::size_t begin = scheme == text.npos ? 0 : scheme + 3;
    // The last one: a secret may hold an @ as well.
    const std::size_t at = text.substr(0, text.find_first_of("/?#", begin)).rfind('@');
    if (at != text.npos && at >= begin) {
        shown = std::string{text.substr(0, begin)} + "...@";
        text.remove_prefix(at + 1);
    }
    shown += text;
    for (char& c : shown) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    if (shown.size() <= kShownMax) return shown;
    std::size_t end = kShownMax;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
    return shown.substr(0, end) + "...";
}

std::string host_port(const std::string& host, std::uint16_t port) {
    return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string host_header(const std::string& host, std::uint16_t port, bool is_https) {
    const bool is_address = host.find(':') != host.npos;
    const std::string name = is_address ? "[" + host.substr(0, host.find('%')) + "]" : host;
    return port == (is_https ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

std::string certificate_name(const std::string& host) {
    if (host.find(':') != host.npos) return host.substr(0, host.find('%'));
    return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

std::optional<bool> is_loopback(const std::string& host) {
    if (host == "localhost") return true;
    in_addr four{};
    if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
    in6_addr six{};
    const Result<std::string> parsed = parse_host(host);
    if (!parsed || parsed->find(':') == parsed->npos) return std::nullopt;
    if (inet_pton(AF_INET6, parsed->substr(0, parsed->find('%')).c_str(), &six) != 1) {
        return std::nullopt;
    }
    if (IN6_IS_ADDR_LOOPBACK(&six)) return true;
    return IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127;
}

}  // namespace gpuctl::text
