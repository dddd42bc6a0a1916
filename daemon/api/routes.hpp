#pragma once
// The one place that knows path, verb, role, limit and handler of every endpoint. A new endpoint is
// a line in routes.cpp and a handler.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/aio/task.hpp"
#include "daemon/api/auth.hpp"
#include "daemon/api/services.hpp"
#include "daemon/net/http_types.hpp"
#include "daemon/net/websocket.hpp"

namespace gpuctl::api {

// A request that was let in.
struct Call {
    net::HttpRequest request;
    net::Target target;
    std::vector<std::string> parameters;  // in the order of the pattern's {holes}
    Identity who;
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
    std::string_view pattern;  // also the `route` label of metrics
    Role role;
    std::size_t body_bytes_max;  // 0: a body is refused
    NowHandler now = nullptr;    // exactly one of now and later
    LaterHandler later = nullptr;
    AdmitHandler admit = nullptr;  // both or none: the route can be upgraded
    SocketHandler socket = nullptr;
    std::string_view query = "";  // names of the query parameters it knows, separated by spaces
    bool tells_starts = false;    // answered once those that are known are no longer old
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
