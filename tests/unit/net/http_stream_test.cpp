// Answers read piece by piece.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "unit/aio/run_on_loop.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;
using Scripts = std::vector<ScriptedPeer::Script>;

struct Read {
    std::optional<Error> open_failure;
    std::optional<Error> failure;
    int status = 0;
    std::string body;
    std::string error_body;
    int timeouts = 0;
};

aio::Task<void> read_all(aio::Loop& loop, HttpClientSettings origin, std::string target,
                         std::chrono::microseconds patience, Read& read) {
    HttpClient client{loop, std::move(origin)};
    Result<std::unique_ptr<HttpClient::Stream>> stream =
        co_await client.open_stream(get(target), soon());
    if (!stream) {
        read.open_failure = stream.error();
        co_return;
    }
    read.status = (*stream)->status();
    read.error_body = (*stream)->error_body();
    const auto deadline = soon();
    while (read.status < 400 && !deadline.passed()) {
        const Result<bool> more =
            co_await (*stream)->read_some(read.body, aio::Deadline::in(patience));
        if (more && !*more) break;
        if (!more && more.error().code != ErrorCode::Timeout) {
            read.failure = more.error();
            break;
        }
        if (!more) ++read.timeouts;
    }
}

Read stream_of(const std::string& answer) {
    const ScriptedPeer peer{Scripts{{{answer}}}};
    aio::Loop loop;
    Read read;
    aio::run_to_end(loop, read_all(loop, peer.origin(), "/watch", std::chrono::seconds(30), read));
    return read;
}

TEST(HttpStream, every_framing_is_read_to_its_end) {
    for (const char* answer : {
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
             "chunked\r\n\r\n2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
             "HTTP/1.1 200 OK\r\n\r\nabcde",
             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
         }) {
        const Read read = stream_of(answer);
        EXPECT_FALSE(read.open_failure) << answer;
        EXPECT_FALSE(read.failure) << answer << read.failure->message;
        EXPECT_EQ(read.status, 200);
        EXPECT_EQ(read.body, "abcde") << answer;
    }
}

TEST(HttpStream, a_truncated_stream_is_an_error_after_its_data) {
    for (const char* answer :
         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"}) {
        const Read read = stream_of(answer);
        EXPECT_EQ(read.body, "ab") << answer;
        ASSERT_TRUE(read.failure) << answer;
        EXPECT_EQ(read.failure->code, ErrorCode::Unreachable);
    }
}

TEST(HttpStream, a_connection_closed_without_an_answer_is_an_error_of_opening) {
    for (const char* answer : {"", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 2"}) {
        const Read read = stream_of(answer);
        EXPECT_TRUE(read.open_failure) << answer;
    }
}

TEST(HttpStream, an_error_status_brings_its_body) {
    const Read read = stream_of(
        "HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nExpired\r\n0\r\n\r\n");
    EXPECT_EQ(read.status, 410);
    EXPECT_EQ(read.error_body, "Expired");
}

TEST(HttpStream, an_endless_error_body_is_bounded) {
    const std::string endless(400u << 10, 'x');
    const Read read = stream_of("HTTP/1.1 500 X\r\n\r\n" + endless);
    EXPECT_EQ(read.status, 500);
    EXPECT_EQ(read.error_body.size(), 256u << 10);
}

// Forwards a connection to `port`, server to client seven bytes at a time, so that every read
// deadline falls in the middle of a TLS record.
aio::Task<void> dribble(aio::Loop& loop, ByteStream& listener, std::uint16_t port) {
    co_await listener.wait(Side::read, soon());
    const int descriptor =
        ::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    ByteStream client{loop.executor(), descriptor};
    std::unique_ptr<ByteStream> server = co_await open_raw(loop, port);
    char bytes[4096];
    for (;;) {
        const IoOutcome up = client.try_read(bytes, sizeof bytes);
        std::size_t sent = 0;
        if (up.state == IoOutcome::State::moved) {
            co_await server->write_all({bytes, up.bytes}, sent, soon());
        }
        const IoOutcome down = server->try_read(bytes, 7);
        if (down.state == IoOutcome::State::moved) {
            co_await client.write_all({bytes, down.bytes}, sent, soon());
        }
        const bool over =
            up.state == IoOutcome::State::end || up.state == IoOutcome::State::failed ||
            down.state == IoOutcome::State::end || down.state == IoOutcome::State::failed;
        if (over) co_return;
        const bool go_on =
            co_await aio::sleep_until(aio::Deadline::in(std::chrono::microseconds(200)));
        if (!go_on) co_return;
    }
}

aio::Task<void> partial_records_body(aio::Loop& loop, bool tls) {
    HttpServerSettings settings;
    const Identity ca = make_ca("test CA");
    const Identity identity = issue(ca, "server", "IP:127.0.0.1");
    if (tls) settings.tls = ServerTls{identity.certificate_pem, identity.key_pem, ""};
    TestServer server{loop, settings};

    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(descriptor, 4);
    socklen_t size = sizeof address;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    ByteStream listener{loop.executor(), descriptor};
    aio::TaskGroup group{loop};
    group.spawn("dribble", dribble(loop, listener, server.server.port()));

    HttpClientSettings origin = server.origin();
    origin.port = ntohs(address.sin_port);
    if (tls) {
        origin.tls.enabled = true;
        origin.tls.ca_pem = ca.certificate_pem;
    }
    Read read;
    co_await read_all(loop, origin, "/hello", std::chrono::microseconds(100), read);
    EXPECT_FALSE(read.open_failure);
    EXPECT_FALSE(read.failure);
    EXPECT_EQ(read.body, "hello");
    group.cancel();
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    co_await server.stop();
}

TEST(HttpStream, a_deadline_in_the_middle_of_a_record_loses_nothing) {
    for (const bool tls : {false, true}) {
        aio::Loop loop;
        aio::run_to_end(loop, partial_records_body(loop, tls));
    }
}

aio::Task<void> silence_body(aio::Loop& loop, HttpClientSettings origin) {
    HttpClient client{loop, std::move(origin)};
    Result<std::unique_ptr<HttpClient::Stream>> stream =
        co_await client.open_stream(get("/watch"), soon());
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    std::string out = "kept ";
    const Result<bool> first = co_await (*stream)->read_some(out, soon());
    EXPECT_TRUE(first);
    const Result<bool> second =
        co_await (*stream)->read_some(out, aio::Deadline::in(milliseconds(5)));
    EXPECT_TRUE(second.has_error());
    if (!second) {
        EXPECT_EQ(second.error().code, ErrorCode::Timeout);
    }
    EXPECT_EQ(out, "kept ab");
    EXPECT_EQ(client.figures().connections, 1u);
    stream->reset();
    EXPECT_EQ(client.figures().connections, 0u);
}

TEST(HttpStream, silence_is_a_timeout_and_dropping_the_stream_closes_it) {
    const ScriptedPeer peer{
        Scripts{{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"}, false}}};
    aio::Loop loop;
    aio::run_to_end(loop, silence_body(loop, peer.origin()));
}

}  // namespace
}  // namespace gpuctl::net
