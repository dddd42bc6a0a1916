#include "unit/net/support.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace gpuctl::net {

HeaderVerdict EchoHandler::on_header(const HttpRequest& request) {
    HeaderVerdict verdict;
    verdict.body_bytes_max = body_bytes_max;
    if (request.target == "/refuse") verdict.refuse = problem(403, "Forbidden", "not you");
    if (request.target == "/throw-header") throw std::runtime_error("seeded in on_header");
    return verdict;
}

aio::Task<HttpResponse> EchoHandler::on_request(HttpRequest request) {
    requests.push_back(request);
    HttpResponse response;
    response.fields.set("Content-Type", "text/plain");
    if (request.target == "/throw") throw std::runtime_error("seeded in on_request");
    if (request.target == "/slow") {
        arrived.notify_all();
        while (!released) {
            const bool notified = co_await release.wait(soon());
            if (!notified) break;
        }
    }
    if (request.target == "/split") response.fields.set("X-Split", "a\r\nInjected: yes");
    response.body = request.method == "GET" || request.method == "HEAD" ? "hello" : request.body;
    co_return response;
}

aio::Task<std::optional<HttpResponse>> EchoHandler::on_upgrade(HttpRequest request) {
    std::optional<HttpResponse> refused;
    if (request.target == "/throw") throw std::runtime_error("seeded in on_upgrade");
    if (request.target != "/ws" && request.target != "/bytes")
        refused = problem(404, "NotFound", "no such socket");
    co_return refused;
}

aio::Task<void> EchoHandler::on_websocket(HttpRequest request, std::unique_ptr<WebSocket> socket) {
    requests.push_back(request);
    ++websockets_open;
    arrived.notify_all();
    const bool of_bytes = request.target == "/bytes";
    for (;;) {
        const aio::Deadline late = aio::Deadline::in(std::chrono::hours(1));
        Result<std::optional<std::string>> message = std::optional<std::string>{};
        if (of_bytes) {
            message = co_await socket->read_bytes(late);
        } else {
            message = co_await socket->read_text(late);
        }
        last_read = message ? "clean" : message.error().message;
        if (!message || !message->has_value()) break;
        if (**message == "bye") {
            co_await socket->close(CloseCode::policy, "as you wish", soon());
            break;
        }
        Result<void> written{};
        if (of_bytes) {
            written = co_await socket->write_bytes(**message, soon());
        } else {
            written = co_await socket->write_text(**message, soon());
        }
        if (!written) break;
    }
    ++websockets_ended;
    arrived.notify_all();
}

HttpResponse EchoHandler::problem(int status, std::string code, std::string message) {
    HttpResponse response;
    response.status = status;
    response.fields.set("Content-Type", "application/problem+json");
    response.body = code + ": " + message;
    return response;
}

TestServer::TestServer(aio::Loop& on, HttpServerSettings settings)
    : loop(on), handler(on), server(on, (settings.port = 0, settings), handler) {
    const Result<void> started = server.start();
    EXPECT_TRUE(started) << started.error().message;
}

HttpClientSettings TestServer::origin() const {
    HttpClientSettings settings;
    settings.host = "127.0.0.1";
    settings.port = server.port();
    return settings;
}

aio::Task<void> TestServer::stop() {
    handler.released = true;
    handler.release.notify_all();
    const bool in_time = co_await server.stop(soon());
    EXPECT_TRUE(in_time);
}

aio::Task<std::unique_ptr<ByteStream>> open_raw(aio::Loop& loop, std::uint16_t port) {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_stream(loop, "127.0.0.1", port, soon());
    EXPECT_TRUE(stream);
    co_return std::move(*stream);
}

aio::Task<std::string> read_until(ByteStream& stream, std::string mark) {
    const auto deadline = soon();
    std::string got;
    while (mark.empty() || got.find(mark) == std::string::npos) {
        char bytes[4096];
        const IoOutcome outcome = stream.try_read(bytes, sizeof bytes);
        if (outcome.state == IoOutcome::State::moved) {
            got.append(bytes, outcome.bytes);
            continue;
        }
        if (outcome.state != IoOutcome::State::again) break;
        const Wake wake = co_await stream.wait(Side::read, deadline);
        if (wake != Wake::ready) co_return std::string{"(nothing came)"};
    }
    co_return got;
}

aio::Task<std::string> talk(aio::Loop& loop, std::uint16_t port, std::string bytes) {
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, port);
    std::size_t sent = 0;
    co_await stream->write_all(bytes, sent, soon());
    std::string answer = co_await read_until(*stream, "");
    co_return answer;
}

ScriptedPeer::ScriptedPeer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { play(); }};
}

ScriptedPeer::~ScriptedPeer() {
    over_ = true;
    over_.notify_all();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

HttpClientSettings ScriptedPeer::origin() const {
    HttpClientSettings settings;
    settings.host = "127.0.0.1";
    settings.port = port_;
    return settings;
}

std::string ScriptedPeer::received() const { return received_; }

void ScriptedPeer::play() {
    std::vector<int> kept;
    for (const Script& script : scripts_) {
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) break;
        for (const std::string& answer : script.answers) {
            std::string header;
            while (header.find("\r\n\r\n") == std::string::npos) {
                pollfd readable{connection, POLLIN, 0};
                if (::poll(&readable, 1, 50) == 0) {
                    if (over_) break;
                    continue;
                }
                char bytes[4096];
                const auto count = ::recv(connection, bytes, sizeof bytes, 0);
                if (count <= 0) break;
                header.append(bytes, static_cast<std::size_t>(count));
            }
            received_ += header;
            ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
        if (script.close_after) {
            ::close(connection);
        } else {
            kept.push_back(connection);
        }
    }
    if (!kept.empty()) over_.wait(false);
    for (const int connection : kept) ::close(connection);
}

}  // namespace gpuctl::net
