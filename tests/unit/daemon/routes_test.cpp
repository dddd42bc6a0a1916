#include "daemon/api/http/routes.hpp"

#include <gtest/gtest.h>

#include <set>

namespace gpuctl::api {
namespace {

std::vector<std::string> segments_of(std::string_view path) {
    return net::parse_target(path).segments;
}

TEST(RouteTable, every_route_is_complete) {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const Route& route : routes()) {
        SCOPED_TRACE(std::string{route.verb} + " " + std::string{route.pattern});
        EXPECT_TRUE(seen.insert({route.verb, route.pattern}).second);
        EXPECT_TRUE((route.now != nullptr) != (route.later != nullptr));
        EXPECT_EQ(route.admit != nullptr, route.socket != nullptr);
        EXPECT_TRUE(route.pattern.starts_with('/'));
        EXPECT_LE(route.body_bytes_max, std::size_t{1} << 20);
        if (route.verb == "GET" || route.verb == "DELETE") {
            EXPECT_EQ(route.body_bytes_max, 0u);
        }
    }
}

TEST(RouteTable, only_these_answer_without_a_token) {
    const std::set<std::string_view> open{
        "/",        "/health",  "/livez",          "/readyz",
        "/metrics", "/version", "/api/v1/version", "/ui/{path...}"};
    for (const Route& route : routes()) {
        EXPECT_EQ(route.role == Role::anonymous, open.contains(route.pattern)) << route.pattern;
    }
}

TEST(RouteTable, every_route_that_changes_state_needs_more_than_a_viewer) {
    for (const Route& route : routes()) {
        if (route.verb != "GET") {
            EXPECT_GE(route.role, Role::user) << route.pattern;
        }
        if (route.pattern.starts_with("/debug")) {
            EXPECT_GE(route.role, Role::operator_) << route.pattern;
        }
    }
}

TEST(RouteTable, every_route_is_found_by_its_own_pattern) {
    for (const Route& route : routes()) {
        std::string path;
        std::size_t holes = 0;
        for (const char c : route.pattern) {
            if (c == '{') ++holes;
            if (c != '{' && c != '}') path += c;
        }
        const Match match = match_route(route.verb, segments_of(path));
        ASSERT_EQ(match.route, &route) << path;
        EXPECT_EQ(match.parameters.size(), holes);
    }
}

TEST(Router, an_unknown_verb_of_a_known_path_is_refused_with_the_known_ones) {
    const Match match = match_route("PUT", segments_of("/api/v1/jobs"));
    EXPECT_EQ(match.route, nullptr);
    EXPECT_TRUE(match.path_known);
    EXPECT_EQ(allowed_verbs(segments_of("/api/v1/jobs")), "POST, GET, HEAD");
}

TEST(Router, unknown_paths_are_not_found) {
    for (const char* path : {"/nothing", "/api/v1/jobs/a/b", "/api/v2/jobs"}) {
        EXPECT_FALSE(match_route("GET", segments_of(path)).path_known) << path;
    }
}

TEST(Router, the_rest_of_a_path_may_have_any_number_of_segments) {
    for (const auto& [path, count] :
         {std::pair{"/ui", 0U}, {"/ui/", 0U}, {"/ui/a.js", 1U}, {"/ui/a/b/c.css", 3U}}) {
        const Match match = match_route("HEAD", segments_of(path));
        ASSERT_NE(match.route, nullptr) << path;
        EXPECT_EQ(match.route->pattern, "/ui/{path...}");
        EXPECT_EQ(match.parameters.size(), count) << path;
    }
    EXPECT_EQ(match_route("GET", segments_of("/ui/a/b%2Fc")).parameters.at(1), "b/c");
    EXPECT_FALSE(match_route("GET", segments_of("/uix/a")).path_known);
    EXPECT_EQ(allowed_verbs(segments_of("/ui/a/b")), "GET, HEAD");
}

TEST(RouteTable, the_rest_of_a_path_is_at_the_end_of_a_pattern) {
    for (const Route& route : routes()) {
        const std::size_t rest = route.pattern.find("...}");
        EXPECT_TRUE(rest == std::string_view::npos || rest + 4 == route.pattern.size())
            << route.pattern;
    }
}

TEST(Router, an_encoded_slash_stays_inside_its_segment) {
    const Match match = match_route("GET", segments_of("/api/v1/nodes/a%2Fb"));
    ASSERT_NE(match.route, nullptr);
    EXPECT_EQ(match.parameters.at(0), "a/b");
}

}  // namespace
}  // namespace gpuctl::api
