#include "net/http/http_types.hpp"

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "text/url.hpp"

namespace gpuctl::net {

namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// False when a % is not followed by two hex digits, or when the result holds a NUL: no resource of
// ours has one, and C interfaces would cut the name there.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            if (i + 2 >= text.size()) return false;
            const int high = hex_digit(text[i + 1]);
            const int low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
            out.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        } else if (text[i] == '+' && plus_is_space) {
            out.push_back(' ');
        } else {
            out.push_back(text[i]);
        }
    }
    return true;
}

bool parse_path(std::string_view path, std::vector<std::string>& segments) {
    if (path.empty() || path.front() != '/') return false;
    path.remove_prefix(1);
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        std::string segment;
        if (!percent_decode(path.substr(0, end), false, segment)) return false;
        // "." and ".." (also as %2e%2e) and empty segments are refused, not resolved: a proxy in
        // front of us may have resolved them differently. An encoded slash stays inside its segment
        // (namespace%2Fname).
        if (segment.empty() || segment == "." || segment == "..") return false;
        segments.push_back(std::move(segment));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return true;
}

bool parse_query(std::string_view query, std::vector<std::pair<std::string, std::string>>& out) {
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (pair.empty()) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        std::string name;
        std::string value;
        if (!percent_decode(pair.substr(0, equals), true, name)) return false;
        if (equals < pair.size() && !percent_decode(pair.substr(equals + 1), true, value)) {
            return false;
        }
        out.emplace_back(std::move(name), std::move(value));
    }
    return true;
}

}  // namespace

void HttpFields::set(std::string name, std::string value) {
    std::erase_if(fields_, [&](const auto& field) { return same_without_case(field.first, name); });
    add(std::move(name), std::move(value));
}

void HttpFields::add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
}

std::string_view HttpFields::get(std::string_view name) const {
    for (const auto& [key, value] : fields_) {
        if (same_without_case(key, name)) return value;
    }
    return {};
}

bool HttpFields::has(std::string_view name) const {
    return std::any_of(fields_.begin(), fields_.end(),
                       [&](const auto& field) { return same_without_case(field.first, name); });
}

std::string redirect_target(int status, std::string_view location) {
    const bool redirects = status / 100 == 3 && status != 304;
    return redirects ? text::shown_address(location) : "";
}

std::string_view Target::query_value(std::string_view name) const {
    for (const auto& [key, value] : query) {
        if (key == name) return value;
    }
    return {};
}

bool Target::has_query(std::string_view name) const {
    return std::any_of(query.begin(), query.end(),
                       [&](const auto& pair) { return pair.first == name; });
}

Target parse_target(std::string_view target) {
    Target parsed;
    // A fragment is never sent; a raw control byte, space or non-ASCII byte is never valid.
    const bool clean = std::all_of(target.begin(), target.end(),
                                   [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
    const std::size_t question = std::min(target.find('?'), target.size());
    const bool path = clean && parse_path(target.substr(0, question), parsed.segments);
    const std::string_view query =
        question < target.size() ? target.substr(question + 1) : std::string_view{};
    parsed.malformed = !path || !parse_query(query, parsed.query);
    if (parsed.malformed) {
        parsed.segments.clear();
        parsed.query.clear();
    }
    return parsed;
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (plain) {
            out.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out.push_back('%');
        out.push_back(digits[byte >> 4]);
        out.push_back(digits[byte & 15]);
    }
    return out;
}

}  // namespace gpuctl::net
