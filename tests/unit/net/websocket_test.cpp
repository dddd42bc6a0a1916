// WebSockets between our client and our server, and against raw frames.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "net/websocket/websocket_beast.hpp"
#include "unit/aio/run_on_loop.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Message = Result<std::optional<std::string>>;

HttpRequest upgrade_to(std::string target) {
    HttpRequest request;
    request.target = std::move(target);
    request.fields.set("Authorization", "Bearer t");
    request.fields.set("Origin", "http://here");
    return request;
}

aio::Task<void> echo_body(aio::Loop& loop, bool tls) {
    HttpServerSettings settings;
    const Identity ca = make_ca("test CA");
    const Identity identity = issue(ca, "server", "IP:127.0.0.1");
    if (tls) settings.tls = ServerTls{identity.certificate_pem, identity.key_pem, ""};
    TestServer server{loop, settings};
    HttpClientSettings origin = server.origin();
    origin.tls.enabled = tls;
    if (tls) origin.tls.ca_pem = ca.certificate_pem;

    Result<std::unique_ptr<WebSocket>> socket =
        co_await connect_websocket(loop, origin, upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket) << socket.error().message;
    if (!socket) co_return;
    for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 1'000'000u}) {
        const std::string sent(size, 'a');
        const Result<void> written = co_await (*socket)->write_text(sent, soon());
        EXPECT_TRUE(written);
        Message message = co_await (*socket)->read_text(soon());
        EXPECT_TRUE(message);
        if (!message || !message->has_value()) break;
        EXPECT_TRUE(**message == sent) << size;
    }
    co_await (*socket)->close(CloseCode::normal, "done", soon());
    const auto deadline = soon();
    while (server.handler.websockets_ended == 0 && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    EXPECT_EQ(server.handler.websockets_ended, 1);
    // Checked here and not before: an upgrade is answered before its handler begins.
    EXPECT_EQ(server.handler.requests.size(), 1u);
    if (!server.handler.requests.empty()) {
        EXPECT_EQ(server.handler.requests[0].fields.get("Origin"), "http://here");
        EXPECT_EQ(server.handler.requests[0].fields.get("Authorization"), "Bearer t");
    }
    co_await server.stop();
}

TEST(WebSocket, messages_of_every_length_come_back_over_plain_and_tls) {
    for (const bool tls : {false, true}) {
        aio::Loop loop;
        aio::run_to_end(loop, echo_body(loop, tls));
    }
}

aio::Task<void> bytes_body(aio::Loop& loop) {
    TestServer server{loop};
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/bytes"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket) << socket.error().message;
    if (!socket) co_return;
    const std::string sent("\0\xff\xc3\n", 4);  // no UTF-8
    const Result<void> written = co_await (*socket)->write_bytes(sent, soon());
    EXPECT_TRUE(written);
    Message message = co_await (*socket)->read_bytes(soon());
    EXPECT_TRUE(message && message->has_value() && **message == sent);
    EXPECT_EQ((*socket)->protocol(), "") << "none was chosen";
    const Result<void> text = co_await (*socket)->write_text("text", soon());
    EXPECT_TRUE(text);
    Message end = co_await (*socket)->read_bytes(soon());
    EXPECT_FALSE(end && end->has_value());
    EXPECT_FALSE(server.handler.last_read == "clean") << server.handler.last_read;
    co_await server.stop();
}

TEST(WebSocket, messages_of_bytes_come_back_unchanged_and_text_among_them_ends_the_stream) {
    aio::Loop loop;
    aio::run_to_end(loop, bytes_body(loop));
}

aio::Task<void> refused_body(aio::Loop& loop) {
    TestServer server{loop};
    const auto refusal = std::make_shared<HttpResponse>();
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/nowhere"), WebSocketSettings{}, soon(), refusal);
    EXPECT_TRUE(socket.has_error());
    EXPECT_EQ(refusal->status, 404);
    EXPECT_NE(refusal->body.find("no such socket"), std::string::npos) << refusal->body;
    if (!socket) {
        EXPECT_EQ(socket.error().code, ErrorCode::NotFound);
        EXPECT_NE(socket.error().message.find("no such socket"), std::string::npos)
            << socket.error().message;
    }
    Result<std::unique_ptr<WebSocket>> thrown = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/throw"), WebSocketSettings{}, soon());
    EXPECT_TRUE(thrown.has_error());
    EXPECT_EQ(server.handler.failures, std::vector<std::string>{"seeded in on_upgrade"});
    co_await server.stop();
}

TEST(WebSocket, a_refused_upgrade_carries_the_servers_problem) {
    aio::Loop loop;
    aio::run_to_end(loop, refused_body(loop));
}

aio::Task<void> timeout_body(aio::Loop& loop) {
    TestServer server{loop};
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket);
    if (!socket) co_return;
    Message nothing = co_await (*socket)->read_text(aio::Deadline::in(milliseconds(5)));
    EXPECT_TRUE(nothing.has_error());
    if (!nothing) {
        EXPECT_EQ(nothing.error().code, ErrorCode::Timeout);
    }
    const Result<void> written = co_await (*socket)->write_text("still here", soon());
    EXPECT_TRUE(written);
    Message message = co_await (*socket)->read_text(soon());
    EXPECT_TRUE(message);
    if (message && message->has_value()) {
        EXPECT_EQ(**message, "still here");
    }
    const Result<void> bye = co_await (*socket)->write_text("bye", soon());
    EXPECT_TRUE(bye);
    Message end = co_await (*socket)->read_text(soon());
    EXPECT_TRUE(end);
    if (end) {
        EXPECT_FALSE(end->has_value()) << "the peer closed cleanly";
    }
    co_await server.stop();
}

TEST(WebSocket, a_read_deadline_leaves_it_usable_and_a_clean_close_is_the_end) {
    aio::Loop loop;
    aio::run_to_end(loop, timeout_body(loop));
}

aio::Task<void> long_reason_body(aio::Loop& loop) {
    TestServer server{loop};
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket);
    if (!socket) co_return;
    std::string reason = "x";  // an odd start, so that a two-byte character straddles byte 123
    while (reason.size() < 200) reason += "\xc3\xbc";
    co_await (*socket)->close(CloseCode::policy, reason, soon());
    const auto deadline = soon();
    while (server.handler.websockets_ended == 0 && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    EXPECT_EQ(server.handler.last_read, "clean") << "half a character would be a protocol error";
    co_await server.stop();
}

TEST(WebSocket, a_long_close_reason_is_cut_between_characters) {
    aio::Loop loop;
    aio::run_to_end(loop, long_reason_body(loop));
}

aio::Task<void> too_big_body(aio::Loop& loop) {
    HttpServerSettings settings;
    settings.websocket.message_bytes_max = 100;
    TestServer server{loop, settings};
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket);
    if (!socket) co_return;
    co_await (*socket)->write_text(std::string(101, 'x'), soon());
    Message end = co_await (*socket)->read_text(soon());
    EXPECT_TRUE(end.has_error() || !end->has_value());
    EXPECT_EQ(server.handler.websockets_open, 1);
    const auto deadline = soon();
    while (server.handler.websockets_ended == 0 && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    EXPECT_EQ(server.handler.websockets_ended, 1);
    co_await server.stop();
}

TEST(WebSocket, a_message_beyond_the_limit_ends_the_connection) {
    aio::Loop loop;
    aio::run_to_end(loop, too_big_body(loop));
}

aio::Task<void> going_away_body(aio::Loop& loop) {
    TestServer server{loop};
    Result<std::unique_ptr<WebSocket>> socket = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(socket);
    if (!socket) co_return;
    co_await server.stop();
    EXPECT_EQ(server.handler.websockets_ended, 1);
    Message end = co_await (*socket)->read_text(soon());
    EXPECT_TRUE(end) << end.error().message;
    if (end) {
        EXPECT_FALSE(end->has_value());
    }
}

TEST(WebSocket, a_server_that_stops_sends_a_close_frame) {
    aio::Loop loop;
    aio::run_to_end(loop, going_away_body(loop));
}

struct SocketPair {
    SocketPair() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    }
    std::array<int, 2> ends{};  // the streams close them
};

aio::Task<void> accept_on(std::shared_ptr<BeastWebSocket> socket, HttpRequest upgrade) {
    const Result<void> open = co_await socket->accept(std::move(upgrade), "", soon());
    EXPECT_TRUE(open) << open.error().message;
}

aio::Task<void> closing_body(aio::Loop& loop) {
    const SocketPair pair;
    auto ours = std::make_unique<ByteStream>(loop.executor(), pair.ends[0]);
    ByteStream theirs{loop.executor(), pair.ends[1]};
    const auto socket = BeastWebSocket::make(loop, std::move(ours), "", WebSocketSettings{});
    HttpRequest upgrade = upgrade_to("/ws");
    upgrade.fields.set("Host", "a");
    upgrade.fields.set("Connection", "Upgrade");
    upgrade.fields.set("Upgrade", "websocket");
    upgrade.fields.set("Sec-WebSocket-Version", "13");
    upgrade.fields.set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    aio::TaskGroup group{loop};
    group.spawn("accept", accept_on(socket, upgrade));
    loop.post([socket] { socket->going_away(); });  // when the answer is under way
    const std::string answer = co_await read_until(theirs, "the server stops");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 ")) << answer;
    EXPECT_NE(answer.find("\r\n\r\n\x88"), std::string::npos) << "the close frame comes behind it";
    theirs.close();
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
}

TEST(WebSocket, a_server_that_stops_during_an_upgrade_closes_after_it) {
    aio::Loop loop;
    aio::run_to_end(loop, closing_body(loop));
}

const char* const kUpgrade =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

std::string masked_text(const std::string& text) {
    std::string frame{"\x81"};
    frame.push_back(static_cast<char>(0x80 | text.size()));
    return frame + std::string(4, '\0') + text;  // a mask of zeroes masks nothing
}

aio::Task<void> early_frames_body(aio::Loop& loop) {
    TestServer server{loop};
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, server.server.port());
    std::size_t sent = 0;
    const std::string bytes =
        std::string(kUpgrade) + "\r\n" + masked_text("early") + masked_text("bye");
    co_await stream->write_all(bytes, sent, soon());
    const std::string answer = co_await read_until(*stream, "as you wish");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 ")) << answer;
    EXPECT_NE(answer.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos)
        << "RFC 6455's example";
    EXPECT_NE(answer.find("early"), std::string::npos);
    stream->close();
    co_await server.stop();
}

TEST(WebSocket, frames_sent_right_behind_the_upgrade_are_not_lost) {
    aio::Loop loop;
    aio::run_to_end(loop, early_frames_body(loop));
}

aio::Task<void> bad_upgrades_body(aio::Loop& loop) {
    TestServer server{loop};
    const std::uint16_t port = server.server.port();
    const std::string with_body =
        co_await talk(loop, port, std::string(kUpgrade) + "Content-Length: 5\r\n\r\nhello");
    EXPECT_TRUE(with_body.starts_with("HTTP/1.1 400 ")) << with_body;
    const std::string no_key =
        co_await talk(loop, port,
                      "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "Sec-WebSocket-Version: 13\r\n\r\n");
    EXPECT_TRUE(no_key.starts_with("HTTP/1.1 4")) << no_key;
    const std::string unmasked =
        co_await talk(loop, port, std::string(kUpgrade) + "\r\n\x81\x02hi");
    EXPECT_TRUE(unmasked.starts_with("HTTP/1.1 101 ")) << unmasked;
    EXPECT_EQ(unmasked.find("hi", unmasked.find("\r\n\r\n")), std::string::npos);
    co_await server.stop();
    EXPECT_EQ(server.handler.websockets_open, server.handler.websockets_ended);
}

TEST(WebSocket, malformed_upgrades_and_frames_are_refused) {
    aio::Loop loop;
    aio::run_to_end(loop, bad_upgrades_body(loop));
}

aio::Task<void> idle_body(aio::Loop& loop) {
    HttpServerSettings settings;
    settings.websocket.idle_timeout = seconds(1);
    TestServer server{loop, settings};
    // A raw peer that answers no ping.
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, server.server.port());
    std::size_t sent = 0;
    co_await stream->write_all(std::string(kUpgrade) + "\r\n", sent, soon());
    // Our own client answers pings and stays.
    Result<std::unique_ptr<WebSocket>> alive = co_await connect_websocket(
        loop, server.origin(), upgrade_to("/ws"), WebSocketSettings{}, soon());
    EXPECT_TRUE(alive);
    const std::string answer = co_await read_until(*stream, "");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 "));
    EXPECT_NE(answer.find('\x89', answer.find("\r\n\r\n")), std::string::npos) << "a ping came";
    const auto deadline = soon();
    while (server.handler.websockets_ended == 0 && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    EXPECT_EQ(server.handler.websockets_ended, 1);
    if (alive) {
        const Result<void> written = co_await (*alive)->write_text("alive", soon());
        EXPECT_TRUE(written);
        Message message = co_await (*alive)->read_text(soon());
        EXPECT_TRUE(message && message->has_value());
    }
    co_await server.stop();
}

TEST(WebSocket, a_peer_that_answers_no_ping_is_dropped_and_a_peer_that_answers_is_kept) {
    aio::Loop loop;
    aio::run_to_end(loop, idle_body(loop));
}

aio::Task<void> write_much(aio::Loop& loop, HttpClientSettings origin, Result<void>& outcome) {
    Result<std::unique_ptr<WebSocket>> socket =
        co_await connect_websocket(loop, origin, upgrade_to("/ws"), WebSocketSettings{}, soon());
    if (!socket) co_return;
    Result<void> written = Result<void>{};
    while (written) {
        // The echoes are not read: both ends fill up.
        Result<void> again = co_await (*socket)->write_text(std::string(100'000, 'x'),
                                                            aio::Deadline::in(milliseconds(300)));
        written = std::move(again);
    }
    outcome = std::move(written);
}

aio::Task<void> stalled_body(aio::Loop& loop) {
    TestServer server{loop};
    Result<void> outcome = Result<void>{};
    co_await write_much(loop, server.origin(), outcome);
    EXPECT_TRUE(outcome.has_error());
    if (!outcome) {
        EXPECT_EQ(outcome.error().code, ErrorCode::Timeout) << outcome.error().message;
    }
    co_await server.stop();
}

TEST(WebSocket, a_write_to_a_stalled_peer_ends_at_its_deadline) {
    aio::Loop loop;
    aio::run_to_end(loop, stalled_body(loop));
}

}  // namespace
}  // namespace gpuctl::net
