// Finds the route of a request in the table of routes.cpp.

#include "daemon/api/http/routes.hpp"

#include <algorithm>

namespace gpuctl::api {
namespace {

using Segments = std::vector<std::string_view>;

Segments split(std::string_view pattern) {
    Segments segments;
    pattern.remove_prefix(1);
    while (!pattern.empty()) {
        const std::size_t slash = std::min(pattern.find('/'), pattern.size());
        segments.push_back(pattern.substr(0, slash));
        pattern.remove_prefix(std::min(slash + 1, pattern.size()));
    }
    return segments;
}

// In the order of the table, parsed once.
const std::vector<Segments>& patterns() {
    static const std::vector<Segments> all = [] {
        std::vector<Segments> out;
        for (const Route& route : routes()) out.push_back(split(route.pattern));
        return out;
    }();
    return all;
}

bool is_hole(std::string_view segment) { return segment.starts_with('{'); }
bool is_rest(std::string_view segment) { return segment.ends_with("...}"); }
bool has_rest(const Segments& pattern) { return !pattern.empty() && is_rest(pattern.back()); }

// Literal segments win over holes, so that a later /nodes/gpu-detail is not taken for a node's
// name: the table lists literal patterns before those with a hole in the same place.
bool matches(const Segments& pattern, const std::vector<std::string>& segments) {
    const bool open_ended = has_rest(pattern);
    const std::size_t fixed = pattern.size() - (open_ended ? 1 : 0);
    if (open_ended ? segments.size() < fixed : segments.size() != fixed) return false;
    return std::equal(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(fixed),
                      segments.begin(), [](std::string_view wanted, const std::string& given) {
                          return is_hole(wanted) ? !given.empty() : wanted == given;
                      });
}

}  // namespace

Match match_route(std::string_view verb, const std::vector<std::string>& segments) {
    Match match;
    // Whatever can be got can be asked for its header alone (RFC 9110, 9.3.2).
    const std::string_view asked = verb == "HEAD" ? "GET" : verb;
    for (std::size_t i = 0; i < routes().size(); ++i) {
        const Segments& pattern = patterns()[i];
        if (!matches(pattern, segments)) continue;
        const Route& route = routes()[i];
        match.path_known = true;
        if (route.verb != asked) continue;
        match.route = &route;
        for (std::size_t n = 0; n < segments.size(); ++n) {
            const std::string_view wanted = pattern[std::min(n, pattern.size() - 1)];
            if (is_hole(wanted)) match.parameters.push_back(segments[n]);
        }
        break;
    }
    return match;
}

std::string allowed_verbs(const std::vector<std::string>& segments) {
    std::string allow;
    for (std::size_t i = 0; i < routes().size(); ++i) {
        if (!matches(patterns()[i], segments)) continue;
        const std::string_view verb = routes()[i].verb;
        allow += (allow.empty() ? "" : ", ") + std::string{verb};
        if (verb == "GET") allow += ", HEAD";
    }
    return allow;
}

}  // namespace gpuctl::api
