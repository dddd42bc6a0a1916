// The server against clients that misbehave, byte by byte.

#include <gtest/gtest.h>

#include "unit/aio/run_on_loop.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

aio::Task<void> talk_body(aio::Loop& loop, HttpServerSettings settings, std::string bytes,
                          std::string& answer, std::vector<HttpRequest>& requests) {
    TestServer server{loop, settings};
    std::string got = co_await talk(loop, server.server.port(), bytes);
    answer = got;
    requests = server.handler.requests;
    co_await server.stop();
}

struct Spoken {
    std::string answer;
    std::vector<HttpRequest> requests;
};

Spoken say(const std::string& bytes, const HttpServerSettings& settings = {}) {
    aio::Loop loop;
    Spoken spoken;
    aio::run_to_end(loop, talk_body(loop, settings, bytes, spoken.answer, spoken.requests));
    return spoken;
}

const std::string kClose = "Connection: close\r\n\r\n";

TEST(HttpServer, pipelined_requests_are_answered_in_order) {
    const Spoken spoken =
        say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst"
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n\r\n"
            "GET /hello HTTP/1.1\r\nHost: a\r\n" +
            kClose);
    EXPECT_EQ(count_of(spoken.answer, "HTTP/1.1 200 OK"), 3) << spoken.answer;
    const std::size_t first = spoken.answer.find("first");
    const std::size_t second = spoken.answer.find("second");
    const std::size_t third = spoken.answer.find("hello");
    EXPECT_TRUE(first < second && second < third && third != std::string::npos);
    EXPECT_EQ(count_of(spoken.answer, "Connection: close"), 1);
}

TEST(HttpServer, smuggling_forms_are_answered_400_and_nothing_after_them_is_read) {
    const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string heads[] = {
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 4\r\n\r\n",
        "Content-Length: +0\r\n\r\n",
        "Host: b\r\n\r\n",
        "X: a\rb\r\n\r\n",
        "X: a\nb: c\r\n\r\n",
    };
    for (const std::string& head : heads) {
        const Spoken spoken = say("POST /echo HTTP/1.1\r\nHost: a\r\n" + head + hidden);
        EXPECT_EQ(status_line(spoken.answer), "HTTP/1.1 400 Bad Request") << head;
        EXPECT_NE(spoken.answer.find("Connection: close"), std::string::npos);
        EXPECT_TRUE(spoken.requests.empty()) << head;
    }
}

TEST(HttpServer, malformed_chunks_are_never_taken_for_a_body) {
    HttpServerSettings settings;
    settings.body_timeout = seconds(1);  // bare line ends do not end a header
    for (const char* body : {"x\r\nab\r\n0\r\n\r\n", "2\nab\n0\n\n", "2\r\nabc\r\n0\r\n\r\n",
                             "-2\r\nab\r\n0\r\n\r\n", "fffffffffffffffff\r\nab\r\n"}) {
        const Spoken spoken = say(
            std::string("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") +
                body,
            settings);
        EXPECT_TRUE(spoken.answer.starts_with("HTTP/1.1 4")) << body << " -> " << spoken.answer;
        EXPECT_TRUE(spoken.requests.empty()) << body;
    }
}

TEST(HttpServer, trailers_do_not_become_fields) {
    const Spoken spoken =
        say("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
            "\r\n2\r\nab\r\n0\r\nAuthorization: admin\r\n\r\n");
    ASSERT_EQ(spoken.requests.size(), 1u) << spoken.answer;
    EXPECT_FALSE(spoken.requests[0].fields.has("Authorization"));
    EXPECT_EQ(spoken.requests[0].body, "ab");
}

TEST(HttpServer, sizes_beyond_the_limits_are_refused_before_they_are_read) {
    EXPECT_EQ(
        status_line(say("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(17u << 10, 'x')).answer),
        "HTTP/1.1 431 Request Header Fields Too Large");
    EXPECT_EQ(
        status_line(
            say("GET /" + std::string(9u << 10, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n").answer),
        "HTTP/1.1 414 URI Too Long");
    EXPECT_EQ(
        status_line(say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n").answer),
        "HTTP/1.1 413 Payload Too Large");
    std::string chunks;
    for (int i = 0; i < 17; ++i) chunks += "1000\r\n" + std::string(4096, 'x') + "\r\n";
    EXPECT_EQ(status_line(say("POST /echo HTTP/1.1\r\nHost: a\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n" +
                              chunks + "0\r\n\r\n")
                              .answer),
              "HTTP/1.1 413 Payload Too Large");
}

TEST(HttpServer, a_refused_header_leaves_its_body_unread_and_closes) {
    const Spoken spoken =
        say("POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
            "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_line(spoken.answer), "HTTP/1.1 403 Forbidden");
    EXPECT_EQ(count_of(spoken.answer, "HTTP/1.1"), 1);
    EXPECT_TRUE(spoken.requests.empty());
}

TEST(HttpServer, a_slow_header_and_a_slow_body_are_answered_408) {
    HttpServerSettings settings;
    settings.header_timeout = seconds(0);
    settings.body_timeout = seconds(0);
    const std::string header = say("GET /hello HTTP/1.1\r\nHost:", settings).answer;
    // With no time at all even the first bytes may come too late: then there is no answer.
    EXPECT_TRUE(header.empty() || status_line(header) == "HTTP/1.1 408 Request Timeout") << header;
    settings.header_timeout = seconds(10);
    EXPECT_EQ(
        status_line(
            say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe", settings).answer),
        "HTTP/1.1 408 Request Timeout");
}

TEST(HttpServer, an_idle_connection_is_closed_without_a_response) {
    HttpServerSettings settings;
    settings.idle_timeout = seconds(0);
    const Spoken spoken = say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", settings);
    EXPECT_EQ(count_of(spoken.answer, "HTTP/1.1"), 1) << spoken.answer;
    EXPECT_EQ(status_line(spoken.answer), "HTTP/1.1 200 OK");
}

TEST(HttpServer, http_1_0_is_answered_and_closed) {
    const Spoken spoken = say("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(status_line(spoken.answer), "HTTP/1.1 200 OK");
    EXPECT_NE(spoken.answer.find("Connection: close"), std::string::npos);
}

aio::Task<void> continue_body(aio::Loop& loop) {
    TestServer server{loop};
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, server.server.port());
    std::size_t sent = 0;
    co_await stream->write_all(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", sent,
        soon());
    const std::string interim = co_await read_until(*stream, "\r\n\r\n");
    EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    co_await stream->write_all("hello", sent, soon());
    const std::string answer = co_await read_until(*stream, "hello");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK")) << answer;
    co_await stream->write_all(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\nExpect: 100-continue\r\n\r\n",
        sent, soon());
    const std::string refused = co_await read_until(*stream, "");
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 413 ")) << refused;
    co_await server.stop();
}

TEST(HttpServer, a_client_that_expects_100_gets_it_only_when_its_body_is_wanted) {
    aio::Loop loop;
    aio::run_to_end(loop, continue_body(loop));
}

aio::Task<void> limit_body(aio::Loop& loop) {
    HttpServerSettings settings;
    settings.connections_max = 2;
    TestServer server{loop, settings};
    std::unique_ptr<ByteStream> one = co_await open_raw(loop, server.server.port());
    std::unique_ptr<ByteStream> two = co_await open_raw(loop, server.server.port());
    const std::string third = co_await talk(loop, server.server.port(), "GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(third.starts_with("HTTP/1.1 503 ")) << third;
    EXPECT_EQ(server.server.figures().refused, 1u);
    one->close();
    const auto deadline = soon();
    while (server.server.figures().connections > 1 && !deadline.passed()) {
        co_await aio::sleep_until(aio::Deadline::in(milliseconds(1)));
    }
    const std::string fourth = co_await talk(
        loop, server.server.port(), "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(fourth.starts_with("HTTP/1.1 200 ")) << "there is room again: " << fourth;
    co_await server.stop();
}

TEST(HttpServer, connections_beyond_the_limit_get_a_503) {
    aio::Loop loop;
    aio::run_to_end(loop, limit_body(loop));
}

aio::Task<void> ask_slow(HttpClient& client, int& status, std::string& connection) {
    HttpRequest request;
    request.target = "/slow";
    const Result<HttpResponse> response = co_await client.request(request, soon());
    status = response ? response->status : -1;
    if (response) connection = response->fields.get("Connection");
}

aio::Task<void> stop_server(HttpServer& server, aio::Deadline deadline, bool& in_time, bool& done) {
    const bool ended = co_await server.stop(deadline);
    in_time = ended;
    done = true;
}

aio::Task<void> graceful_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    std::unique_ptr<ByteStream> idle = co_await open_raw(loop, server.server.port());
    aio::TaskGroup group{loop};
    int status = 0;
    std::string connection;
    group.spawn("slow", ask_slow(client, status, connection));
    const auto deadline = soon();
    while (server.handler.requests.empty() && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    bool in_time = false;
    bool done = false;
    group.spawn("stop", stop_server(server.server, soon(), in_time, done));
    const std::string idle_end = co_await read_until(*idle, "");
    EXPECT_EQ(idle_end, "") << "an idle connection is closed at once";
    EXPECT_FALSE(done) << "the request in work is waited for";
    server.handler.released = true;
    server.handler.release.notify_all();
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    EXPECT_TRUE(in_time);
    EXPECT_EQ(status, 200);
    EXPECT_EQ(connection, "close");
    EXPECT_EQ(server.server.figures().connections, 0u);
}

TEST(HttpServer, stop_lets_requests_in_work_finish_and_closes_the_idle) {
    aio::Loop loop;
    aio::run_to_end(loop, graceful_body(loop));
}

aio::Task<void> forced_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    aio::TaskGroup group{loop};
    int status = 0;
    std::string connection;
    group.spawn("slow", ask_slow(client, status, connection));
    const auto deadline = soon();
    while (server.handler.requests.empty() && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    const bool in_time = co_await server.server.stop(aio::Deadline::in(milliseconds(20)));
    EXPECT_FALSE(in_time);
    EXPECT_EQ(server.server.figures().connections, 0u) << "cancelled and joined all the same";
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
}

aio::Task<void> half_body(aio::Loop& loop) {
    TestServer server{loop};
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, server.server.port());
    std::size_t sent = 0;
    co_await stream->write_all(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", sent,
        soon());
    const std::string interim = co_await read_until(*stream, "\r\n\r\n");
    EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n") << "now it reads the body";
    const bool in_time = co_await server.server.stop(soon());
    EXPECT_TRUE(in_time) << "half a request is no work";
    const std::string answer = co_await read_until(*stream, "");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
}

TEST(HttpServer, stop_does_not_wait_for_half_a_request) {
    aio::Loop loop;
    aio::run_to_end(loop, half_body(loop));
}

TEST(HttpServer, stop_cancels_what_is_left_at_its_deadline) {
    aio::Loop loop;
    aio::run_to_end(loop, forced_body(loop));
}

}  // namespace
}  // namespace gpuctl::net
