// Many connections of every kind at once, then everything is cancelled. Under the address sanitizer
// this checks the coroutine rules (docs/adr/0003).

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "scheduler/base/rng.hpp"
#include "unit/aio/run_on_loop.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;

constexpr int kConnections = 2500;
constexpr int kKinds = 8;

aio::Task<void> misbehave(aio::Loop& loop, std::uint16_t port, std::string bytes, bool stay) {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_stream(loop, "127.0.0.1", port, soon());
    if (!stream) co_return;
    std::size_t sent = 0;
    const Result<void> written = co_await (*stream)->write_all(bytes, sent, soon());
    if (written && stay) co_await read_until(**stream, "");
}

aio::Task<void> behave(HttpClient& client, std::uint64_t requests, int& answered) {
    for (std::uint64_t i = 0; i < requests; ++i) {
        HttpRequest request;
        request.method = "POST";
        request.target = "/echo";
        request.body = "x";
        const Result<HttpResponse> response = co_await client.request(request, soon());
        if (!response) co_return;
        ++answered;
    }
}

aio::Task<void> stream_and_give_up(HttpClient& client, std::uint64_t patience_ms) {
    HttpRequest request;
    request.target = "/slow";
    Result<std::unique_ptr<HttpClient::Stream>> stream =
        co_await client.open_stream(request, aio::Deadline::in(milliseconds(patience_ms)));
    if (!stream) co_return;
    std::string out;
    co_await (*stream)->read_some(out, aio::Deadline::in(milliseconds(patience_ms)));
}

aio::Task<void> talk_over_websocket(aio::Loop& loop, HttpClientSettings origin,
                                    std::uint64_t messages, bool stay) {
    HttpRequest upgrade;
    upgrade.target = "/ws";
    Result<std::unique_ptr<WebSocket>> socket =
        co_await connect_websocket(loop, origin, upgrade, WebSocketSettings{}, soon());
    if (!socket) co_return;
    for (std::uint64_t i = 0; i < messages; ++i) {
        const Result<void> written = co_await (*socket)->write_text("message", soon());
        if (!written) co_return;
        Result<std::optional<std::string>> message = co_await (*socket)->read_text(soon());
        if (!message) co_return;
    }
    if (stay) {
        co_await (*socket)->read_text(soon());
    } else {
        co_await (*socket)->close(CloseCode::normal, "", soon());
    }
}

struct Crowd {
    aio::Loop& loop;
    TestServer& server;
    HttpClientSettings origin;
    HttpClient& client;
    aio::TaskGroup& group;
    Rng rng;
    int answered = 0;

    void add() {
        const std::uint16_t port = server.server.port();
        const std::string cut = "GET /hello HTTP/1.1\r\nHost: a\r\nX-Cut: abc";
        switch (rng.below(kKinds)) {
            case 0:
                group.spawn("silent", misbehave(loop, port, "", true));
                break;
            case 1:
                group.spawn("cut", misbehave(loop, port, cut, true));
                break;
            case 2:
                group.spawn("gone", misbehave(loop, port, cut, false));
                break;
            case 3:
                group.spawn("noise", misbehave(loop, port, "\x16\x03\x01 noise\r\n\r\n", true));
                break;
            case 4:
                group.spawn("good", behave(client, 1 + rng.below(5), answered));
                break;
            case 5:
                group.spawn("stream", stream_and_give_up(client, rng.below(200)));
                break;
            case 6:
                group.spawn("ws", talk_over_websocket(loop, origin, rng.below(5), false));
                break;
            default:
                group.spawn("ws stays", talk_over_websocket(loop, origin, rng.below(3), true));
        }
    }
};

aio::Task<void> soak_body(aio::Loop& loop, bool tls) {
    HttpServerSettings settings;
    const Identity ca = make_ca("test CA");
    const Identity identity = issue(ca, "server", "IP:127.0.0.1");
    if (tls) settings.tls = ServerTls{identity.certificate_pem, identity.key_pem, ""};
    settings.connections_max = 4'000;
    TestServer server{loop, settings};
    HttpClientSettings origin = server.origin();
    origin.tls.enabled = tls;
    if (tls) origin.tls.ca_pem = ca.certificate_pem;
    {
        HttpClient client{loop, origin};
        aio::TaskGroup group{loop};
        Crowd crowd{loop, server, origin, client, group, Rng{7}};
        const int connections = tls ? kConnections / 5 : kConnections;
        for (int i = 0; i < connections; ++i) {
            crowd.add();
            if (i % 50 == 0) co_await aio::sleep_until(aio::Deadline::in(milliseconds(1)));
        }
        const auto deadline = soon();
        while (crowd.answered < connections / 10 && !deadline.passed()) {
            co_await aio::sleep_until(aio::Deadline::in(milliseconds(5)));
        }
        EXPECT_GE(crowd.answered, connections / 10) << "good clients are served in the crowd";
        EXPECT_GT(group.size(), static_cast<std::size_t>(connections / 10)) << "much is in flight";
        group.cancel();
        const bool joined = co_await group.join(soon());
        EXPECT_TRUE(joined) << group.size() << " left, first " << group.left().front();
    }
    // The server has tasks in flight: the remaining ones are cancelled, not awaited.
    co_await server.server.stop(aio::Deadline::in(milliseconds(50)));
    EXPECT_EQ(server.server.figures().connections, 0u);
}

void allow_descriptors() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(Soak, thousands_of_connections_of_every_kind_are_cancelled_in_flight_and_all_are_joined) {
    allow_descriptors();
    aio::Loop loop;
    aio::run_to_end(loop, soak_body(loop, false));
}

TEST(Soak, thousands_of_tls_connections_are_cancelled_in_flight_and_all_are_joined) {
    allow_descriptors();
    aio::Loop loop;
    aio::run_to_end(loop, soak_body(loop, true));
}

}  // namespace
}  // namespace gpuctl::net
