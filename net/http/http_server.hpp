#pragma once
// HTTP/1.1 server on Beast: accepts, guards (framing, sizes, deadlines), hands whole requests to a
// handler, upgrades to WebSocket when the handler says so.
//
// Guard (net/http/http_guard.hpp): refuses before any body is read what smuggling needs -
// Transfer-Encoding not ending in chunked, both lengths, chunked in HTTP/1.0, bare CR, repeated
// Host or Content-Length, header block over 16 KiB, target over 8 KiB; a slow header (10 s), a slow
// body (30 s) and an idle connection (60 s) are closed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/http/http_types.hpp"
#include "net/transport/tls.hpp"
#include "net/websocket/websocket.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

struct HttpServerSettings {
    std::string address = "127.0.0.1";
    std::uint16_t port = 8000;  // 0: any free one, see HttpServer::port()
    std::optional<ServerTls> tls;
    std::size_t connections_max = 1'024;  // further ones get 503 and are closed
    std::size_t header_bytes_max = 16u << 10;
    std::size_t target_bytes_max = 8u << 10;
    std::chrono::seconds header_timeout{10};
    std::chrono::seconds body_timeout{30};
    std::chrono::seconds idle_timeout{60};
    std::chrono::seconds write_timeout{30};
    WebSocketSettings websocket;
};

// What to do with a request whose header has been read.
struct HeaderVerdict {
    std::optional<HttpResponse> refuse;     // answer now, read no body, close
    std::size_t body_bytes_max = 1u << 20;  // 413 beyond
};

class HttpHandler {
public:
    virtual ~HttpHandler() = default;
    // Decides on the header alone (route known? authorised? length allowed?).
    virtual HeaderVerdict on_header(const HttpRequest& request) = 0;
    virtual aio::Task<HttpResponse> on_request(HttpRequest request) = 0;
    // Called instead of on_request for an upgrade request. nullopt accepts it, then on_websocket
    // owns the open socket until it returns.
    virtual aio::Task<std::optional<HttpResponse>> on_upgrade(HttpRequest request) = 0;
    virtual aio::Task<void> on_websocket(HttpRequest request,
                                         std::unique_ptr<WebSocket> socket) = 0;
    // The sub-protocol to use, among those the client offers; empty: none.
    virtual std::string choose_protocol(const HttpRequest& request) {
        static_cast<void>(request);
        return {};
    }
    // A refusal by the guard or by a limit, as the body to send (problem document).
    virtual HttpResponse problem(int status, std::string code, std::string message) = 0;
    // An exception left on_request, on_upgrade or on_websocket; the client got a 500.
    virtual void on_failure(const std::string& what) { static_cast<void>(what); }
};

class HttpServer {
public:
    // `handler` outlives the server. Binding errors (in use, not permitted) are returned by
    // start().
    HttpServer(aio::Loop& loop, HttpServerSettings settings, HttpHandler& handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    Result<void> start();
    [[nodiscard]] std::uint16_t port() const;
    Result<void> replace_tls(ServerTls tls);

    void stop_accepting();
    // Lets requests in work finish, then cancels; true when all ended in time.
    aio::Task<bool> stop(aio::Deadline deadline);

    struct Figures {
        std::size_t connections = 0;
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0;
    };
    [[nodiscard]] Figures figures() const;

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::net
