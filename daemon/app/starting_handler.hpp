#pragma once
// Answers HTTP clients before the engine exists: in Kubernetes mode the journal cannot be opened
// before the API server has returned the cluster's id. Alive, not ready, and /readyz says why.

#include <string>

#include "net/http/http_server.hpp"

namespace gpuctl::app {

// Passes every request to `next` once it exists.
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
