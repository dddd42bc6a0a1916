#include "daemon/api/routes.hpp"

#include <algorithm>
#include <array>

#include "daemon/api/handlers.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kNoBody = 0;
constexpr std::size_t kJobBody = 1u << 20;

constexpr auto kRoutes = std::to_array<Route>({
    // verb, pattern, role, body bytes, handler
    {.verb = "GET",
     .pattern = "/",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_root},
    {.verb = "GET",
     .pattern = "/health",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_health},
    {.verb = "GET",
     .pattern = "/livez",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_livez,
     .query = "verbose"},
    {.verb = "GET",
     .pattern = "/readyz",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_readyz,
     .query = "verbose exclude"},
    {.verb = "GET",
     .pattern = "/metrics",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_metrics},
    {.verb = "GET",
     .pattern = "/version",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_version},
    {.verb = "GET",
     .pattern = "/api/v1/version",
     .role = Role::anonymous,
     .body_bytes_max = kNoBody,
     .now = get_version},

    {.verb = "POST",
     .pattern = "/api/v1/jobs",
     .role = Role::user,
     .body_bytes_max = kJobBody,
     .later = create_job,
     .query = "namespace strict dryRun"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = list_jobs_page,
     .query = "kind pool queue status namespace page pageSize view",
     .tells_starts = true},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = get_job,
     .query = "namespace",
     .tells_starts = true},
    {.verb = "DELETE",
     .pattern = "/api/v1/jobs/{id}",
     .role = Role::user,
     .body_bytes_max = kNoBody,
     .later = delete_job,
     .query = "namespace force"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}/explain",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = explain,
     .query = "namespace"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}/remedies",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = get_remedies,
     .query = "namespace"},
    {.verb = "POST",
     .pattern = "/api/v1/what-if",
     .role = Role::user,
     .body_bytes_max = kJobBody,
     .later = what_if,
     .query = "namespace strict"},
    {.verb = "POST",
     .pattern = "/api/v1/preview",
     .role = Role::user,
     .body_bytes_max = kJobBody,
     .later = preview_policy,
     .query = "hours"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}/logs",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = get_logs,
     .admit = admit_follow,
     .socket = follow_logs,
     .query = "namespace pod container all tail since follow"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}/logs/ws",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = logs_need_websocket,
     .admit = admit_follow,
     .socket = follow_logs,
     .query = "namespace pod container all tail since follow"},

    {.verb = "GET",
     .pattern = "/api/v1/pools",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = list_pools_page,
     .query = "page pageSize"},
    {.verb = "GET",
     .pattern = "/api/v1/pools/{name}",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = get_pool},
    {.verb = "GET",
     .pattern = "/api/v1/nodes",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = list_nodes_page,
     .query = "pool gpuType status page pageSize"},
    {.verb = "GET",
     .pattern = "/api/v1/nodes/{name}",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = get_node},
    {.verb = "GET",
     .pattern = "/api/v1/queues",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .now = list_queues_page,
     .query = "pool page pageSize"},

    {.verb = "GET",
     .pattern = "/debug/snapshot",
     .role = Role::operator_,
     .body_bytes_max = kNoBody,
     .later = get_snapshot},
});

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

// In the order of the table, taken apart once.
const std::vector<Segments>& patterns() {
    static const std::vector<Segments> all = [] {
        std::vector<Segments> out;
        for (const Route& route : kRoutes) out.push_back(split(route.pattern));
        return out;
    }();
    return all;
}

bool is_hole(std::string_view segment) { return segment.starts_with('{'); }

// Literal segments beat holes, so that a later /nodes/gpu-detail is not taken for a node's name:
// the table lists literal patterns before those with a hole in the same place.
bool matches(const Segments& pattern, const std::vector<std::string>& segments) {
    return std::equal(pattern.begin(), pattern.end(), segments.begin(), segments.end(),
                      [](std::string_view wanted, const std::string& given) {
                          return is_hole(wanted) ? !given.empty() : wanted == given;
                      });
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match match_route(std::string_view verb, const std::vector<std::string>& segments) {
    Match match;
    // Whatever can be got can be asked for its header alone (RFC 9110, 9.3.2).
    const std::string_view asked = verb == "HEAD" ? "GET" : verb;
    for (std::size_t i = 0; i < kRoutes.size(); ++i) {
        const Segments& pattern = patterns()[i];
        if (!matches(pattern, segments)) continue;
        match.path_known = true;
        if (kRoutes[i].verb != asked) continue;
        match.route = &kRoutes[i];
        for (std::size_t n = 0; n < pattern.size(); ++n) {
            if (is_hole(pattern[n])) match.parameters.push_back(segments[n]);
        }
        break;
    }
    return match;
}

std::string allowed_verbs(const std::vector<std::string>& segments) {
    std::string allow;
    for (std::size_t i = 0; i < kRoutes.size(); ++i) {
        if (!matches(patterns()[i], segments)) continue;
        allow += (allow.empty() ? "" : ", ") + std::string{kRoutes[i].verb};
        if (kRoutes[i].verb == "GET") allow += ", HEAD";
    }
    return allow;
}

}  // namespace gpuctl::api
