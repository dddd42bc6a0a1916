#pragma once
// What HTTP clients see before there is an engine: in Kubernetes mode the journal cannot be opened
// before the API server has told which cluster it is. Alive, not ready, and it says why.

#include <string>

#include "daemon/net/http_server.hpp"

namespace gpuctl::app {

// Hands everything to `next` once there is one.
class StartingHandler final : public net::HttpHandler {
public:
    void hand_over_to(net::HttpHandler& next) { next_ = &next; }
    void waits_for(std::string what) { waiting_for_ = std::move(what); }

    net::HeaderVerdict on_header(const net::HttpRequest& request) override;
    aio::Task<net::HttpResponse> on_request(net::HttpRequest request) override;
    aio::Task<std::optional<net::HttpResponse>> on_upgrade(net::HttpRequest request) override;
    aio::Task<void> on_websocket(net::HttpRequest request,
                                 std::unique_ptr<net::WebSocket> socket) override;
    net::HttpResponse problem(int status, std::string code, std::string message) override;
    void on_failure(const std::string& what) override;

private:
    [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request) const;

    net::HttpHandler* next_ = nullptr;
    std::string waiting_for_ = "gpuctld is starting";
};

}  // namespace gpuctl::app
