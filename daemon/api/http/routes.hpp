#pragma once
// Path, verb, role, limit and handler of every endpoint. To add an endpoint, add a row in
// routes.cpp and a handler.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aio/task.hpp"
#include "daemon/api/http/auth.hpp"
#include "daemon/api/http/services.hpp"
#include "net/http/http_types.hpp"
#include "net/websocket/websocket.hpp"

namespace gpuctl::api {

// A request that was let in.
struct Call {
    net::HttpRequest request;
    net::Target target;
    // Values of the pattern's {holes}, in order; {path...} has one for each segment.
    std::vector<std::string> parameters;
    Identity caller;
    std::string request_id;

    [[nodiscard]] std::string_view query(std::string_view name) const {
        return target.query_value(name);
    }
};

using NowHandler = net::HttpResponse (*)(Services&, const Call&);
using LaterHandler = aio::Task<net::HttpResponse> (*)(Services&, Call);
// Before the upgrade: an Error is answered as a problem instead of 101.
using AdmitHandler = Result<void> (*)(Services&, const Call&);
using SocketHandler = aio::Task<void> (*)(Services&, Call, std::unique_ptr<net::WebSocket>);

struct Route {
    std::string_view verb;
    // Also the `route` label of metrics. {name} matches one segment of the path; {path...}, only at
    // the end, matches all remaining segments, also none.
    std::string_view pattern;
    Role role;
    std::size_t body_bytes_max;  // 0: a body is refused
    NowHandler now = nullptr;    // exactly one of now and later
    LaterHandler later = nullptr;
    AdmitHandler admit = nullptr;  // both or none: the route can be upgraded
    SocketHandler socket = nullptr;
    std::string_view query = "";  // names of the query parameters it knows, separated by spaces
    bool needs_starts = false;    // the handler runs after estimated starts are up to date
};

std::span<const Route> routes();

struct Match {
    const Route* route = nullptr;
    std::vector<std::string> parameters;
    bool path_known = false;  // some verb has this path
};
Match match_route(std::string_view verb, const std::vector<std::string>& segments);
// That a path has: "GET, HEAD, DELETE".
std::string allowed_verbs(const std::vector<std::string>& segments);

}  // namespace gpuctl::api
