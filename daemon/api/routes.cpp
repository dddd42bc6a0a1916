#include "daemon/api/routes.hpp"

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
     .query = "kind pool status namespace page pageSize view"},
    {.verb = "GET",
     .pattern = "/api/v1/jobs/{id}",
     .role = Role::viewer,
     .body_bytes_max = kNoBody,
     .later = get_job,
     .query = "namespace"},
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
     .now = get_snapshot},
});

std::vector<std::string_view> split(std::string_view pattern) {
    std::vector<std::string_view> segments;
    pattern.remove_prefix(1);
    while (!pattern.empty()) {
        const std::size_t slash = std::min(pattern.find('/'), pattern.size());
        segments.push_back(pattern.substr(0, slash));
        pattern.remove_prefix(std::min(slash + 1, pattern.size()));
    }
    return segments;
}

// Literal segments beat holes, so that a later /nodes/gpu-detail is not taken for a node's name:
// the table lists literal patterns before those with a hole in the same place.
bool matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& parameters) {
    const std::vector<std::string_view> wanted = split(pattern);
    if (wanted.size() != segments.size()) return false;
    parameters.clear();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].starts_with('{')) {
            if (segments[i].empty()) return false;
            parameters.push_back(segments[i]);
        } else if (wanted[i] != segments[i]) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match match_route(std::string_view verb, const std::vector<std::string>& segments) {
    Match match;
    std::vector<std::string> parameters;
    // Whatever can be got can be asked for its header alone (RFC 9110, 9.3.2).
    const std::string_view asked = verb == "HEAD" ? "GET" : verb;
    for (const Route& route : kRoutes) {
        if (!matches(route.pattern, segments, parameters)) continue;
        match.path_known = true;
        match.allow += (match.allow.empty() ? "" : ", ") + std::string{route.verb};
        if (route.verb == "GET") match.allow += ", HEAD";
        if (route.verb != asked || match.route != nullptr) continue;
        match.route = &route;
        match.parameters = parameters;
    }
    return match;
}

}  // namespace gpuctl::api
