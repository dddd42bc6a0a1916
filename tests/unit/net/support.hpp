#pragma once
// Shared by the network tests: a handler that echoes, a server on a free port, raw clients and a
// scripted peer that sends exactly given bytes.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "net/http/http_client.hpp"
#include "net/http/http_server.hpp"
#include "net/transport/byte_stream.hpp"

namespace gpuctl::net {

inline HttpRequest get(std::string target) {
    HttpRequest request;
    request.target = std::move(target);
    return request;
}

inline aio::Deadline soon() { return aio::Deadline::in(std::chrono::seconds(30)); }

// POST /echo returns the body; GET /hello says hello; /slow answers when `release` is notified;
// /throw throws; /refuse is refused on its header; /ws upgrades and echoes until "bye".
class EchoHandler final : public HttpHandler {
public:
    explicit EchoHandler(aio::Loop& loop) : release(loop), arrived(loop) {}

    HeaderVerdict on_header(const HttpRequest& request) override;
    aio::Task<HttpResponse> on_request(HttpRequest request) override;
    aio::Task<std::optional<HttpResponse>> on_upgrade(HttpRequest request) override;
    aio::Task<void> on_websocket(HttpRequest request, std::unique_ptr<WebSocket> socket) override;
    HttpResponse problem(int status, std::string code, std::string message) override;
    void on_failure(const std::string& what) override { failures.push_back(what); }

    aio::Signal release;
    aio::Signal arrived;  // notified when /slow is reached
    bool released = false;
    std::size_t body_bytes_max = 64u << 10;
    std::vector<std::string> failures;
    std::vector<HttpRequest> requests;
    int websockets_open = 0;
    int websockets_ended = 0;
    std::string last_read;  // how the last websocket ended: "clean" or its error's message
};

struct TestServer {
    aio::Loop& loop;
    EchoHandler handler;
    HttpServer server;

    explicit TestServer(aio::Loop& on, HttpServerSettings settings = {});
    [[nodiscard]] HttpClientSettings origin() const;
    aio::Task<void> stop();
};

// Sends bytes unchanged and returns everything that is received until the server closes (or 30 s).
aio::Task<std::string> talk(aio::Loop& loop, std::uint16_t port, std::string bytes);

aio::Task<std::unique_ptr<ByteStream>> open_raw(aio::Loop& loop, std::uint16_t port);
aio::Task<std::string> read_until(ByteStream& stream, std::string mark);  // "" at end or deadline

// A server of bytes on a thread of its own: for each connection one script, in order. For each of
// its answers it reads one request's header and then sends the answer.
class ScriptedPeer {
public:
    struct Script {
        std::vector<std::string> answers;  // one per request; "" answers nothing
        bool close_after = true;           // else the connection is held open
    };
    explicit ScriptedPeer(std::vector<Script> scripts);
    ~ScriptedPeer();
    [[nodiscard]] HttpClientSettings origin() const;
    [[nodiscard]] std::string received() const;  // after all scripts have run

private:
    void play();
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::vector<Script> scripts_;
    std::string received_;
    std::thread thread_;
    std::atomic<bool> over_{false};
};

}  // namespace gpuctl::net
