#pragma once
// The HTTP handler behind net::HttpServer: finds the route, authorises the request, runs the
// handler, counts, and gives every refusal the form of a problem document.
//
// Order of checks: target -> Host (loopback) -> route and verb -> token -> role -> body limit. The
// same checks run on the header alone, so that the body of a refused request is not read.

#include <map>
#include <string_view>
#include <tuple>
#include <variant>

#include "daemon/api/http/routes.hpp"
#include "net/http/http_server.hpp"

namespace gpuctl::api {

class ApiServer final : public net::HttpHandler {
public:
    explicit ApiServer(Services& services) : services_(services) {}

    net::HeaderVerdict on_header(const net::HttpRequest& request) override;
    aio::Task<net::HttpResponse> on_request(net::HttpRequest request) override;
    aio::Task<std::optional<net::HttpResponse>> on_upgrade(net::HttpRequest request) override;
    aio::Task<void> on_websocket(net::HttpRequest request,
                                 std::unique_ptr<net::WebSocket> socket) override;
    net::HttpResponse problem(int status, std::string code, std::string message) override;

private:
    struct Admitted {
        const Route* route;
        Call call;
    };
    struct Refused {
        net::HttpResponse response;
        std::string_view route_label;
    };
    using Verdict = std::variant<Admitted, Refused>;

    Verdict admit(net::HttpRequest request);
    [[nodiscard]] std::optional<Error> check_host(const net::HttpRequest& request) const;
    void finish(net::HttpResponse& response, std::string_view request_id) const;
    void count(std::string_view route, std::string_view verb, int status,
               aio::Clock::time_point started);

    struct Figures {
        metrics::Counter* requests = nullptr;
        metrics::Histogram* duration = nullptr;
    };

    Services& services_;
    std::map<std::tuple<std::string_view, std::string_view, int>, Figures> figures_;
};

}  // namespace gpuctl::api
