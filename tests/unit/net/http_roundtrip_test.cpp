// Our client against our server: well-formed exchanges.

#include <gtest/gtest.h>

#include "unit/aio/run_on_loop.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HttpRequest post(std::string target, std::string body) {
    HttpRequest request;
    request.method = "POST";
    request.target = std::move(target);
    request.body = std::move(body);
    return request;
}

aio::Task<void> one_connection_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    for (int i = 0; i < 100; ++i) {
        const std::string body = "message " + std::to_string(i);
        const Result<HttpResponse> response = co_await client.request(post("/echo", body), soon());
        EXPECT_TRUE(response);
        if (!response) break;
        EXPECT_EQ(response->status, 200);
        EXPECT_EQ(response->body, body);
        EXPECT_EQ(response->fields.get("server"), "gpuctld");
        EXPECT_FALSE(response->fields.get("Date").empty());
    }
    EXPECT_EQ(client.figures().connections_opened, 1u);
    EXPECT_EQ(server.handler.requests.size(), 100u);
    EXPECT_EQ(server.handler.requests[0].remote, "127.0.0.1");
    EXPECT_EQ(server.handler.requests[0].fields.get("Host"),
              "127.0.0.1:" + std::to_string(server.server.port()));
    co_await server.stop();
}

TEST(HttpRoundtrip, requests_in_a_row_share_one_connection) {
    aio::Loop loop;
    aio::run_to_end(loop, one_connection_body(loop));
}

aio::Task<void> large_body_body(aio::Loop& loop) {
    TestServer server{loop};
    server.handler.body_bytes_max = 8u << 20;
    HttpClient client{loop, server.origin()};
    std::string large(5u << 20, 'x');
    for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>('a' + i % 26);
    const Result<HttpResponse> response = co_await client.request(post("/echo", large), soon());
    EXPECT_TRUE(response);
    if (response) {
        EXPECT_TRUE(response->body == large);
    }
    co_await server.stop();
}

TEST(HttpRoundtrip, large_bodies_arrive_whole_both_ways) {
    aio::Loop loop;
    aio::run_to_end(loop, large_body_body(loop));
}

aio::Task<void> head_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    HttpRequest head = get("/hello");
    head.method = "HEAD";
    const Result<HttpResponse> response = co_await client.request(head, soon());
    EXPECT_TRUE(response);
    if (response) {
        EXPECT_EQ(response->fields.get("Content-Length"), "5");
        EXPECT_EQ(response->body, "");
    }
    const Result<HttpResponse> next = co_await client.request(get("/hello"), soon());
    EXPECT_TRUE(next);
    if (next) {
        EXPECT_EQ(next->body, "hello");
    }
    EXPECT_EQ(client.figures().connections_opened, 1u);
    co_await server.stop();
}

TEST(HttpRoundtrip, head_has_a_length_but_no_body_and_keeps_the_connection) {
    aio::Loop loop;
    aio::run_to_end(loop, head_body(loop));
}

aio::Task<void> one_slow(HttpClient& client, int& answered) {
    const Result<HttpResponse> response = co_await client.request(get("/slow"), soon());
    if (response && response->status == 200) ++answered;
}

aio::Task<void> bounded_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClientSettings origin = server.origin();
    origin.in_flight_max = 4;
    origin.waiting_max = 6;
    HttpClient client{loop, origin};
    aio::TaskGroup group{loop};
    int answered = 0;
    for (int i = 0; i < 10; ++i) group.spawn("slow request", one_slow(client, answered));
    const auto deadline = soon();
    while (server.handler.requests.size() < 4 && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    EXPECT_EQ(client.figures().in_flight, 4u);
    EXPECT_EQ(client.figures().waiting, 6u);

    const Result<HttpResponse> eleventh = co_await client.request(get("/hello"), soon());
    EXPECT_TRUE(eleventh.has_error());
    if (!eleventh) {
        EXPECT_EQ(eleventh.error().code, ErrorCode::TooManyRequests);
    }

    server.handler.released = true;
    server.handler.release.notify_all();
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    EXPECT_EQ(answered, 10);
    EXPECT_EQ(client.figures().connections_opened, 4u);
    EXPECT_EQ(client.figures().in_flight, 0u);
    EXPECT_EQ(client.figures().waiting, 0u);
    co_await server.stop();
}

TEST(HttpRoundtrip, requests_beyond_the_bound_wait_and_beyond_the_queue_are_refused) {
    aio::Loop loop;
    aio::run_to_end(loop, bounded_body(loop));
}

aio::Task<void> waiting_deadline_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClientSettings origin = server.origin();
    origin.in_flight_max = 1;
    HttpClient client{loop, origin};
    aio::TaskGroup group{loop};
    int answered = 0;
    group.spawn("slow request", one_slow(client, answered));
    const auto deadline = soon();
    while (server.handler.requests.empty() && !deadline.passed()) {
        co_await server.handler.arrived.wait(deadline);
    }
    const Result<HttpResponse> waited =
        co_await client.request(get("/hello"), aio::Deadline::in(milliseconds(20)));
    EXPECT_TRUE(waited.has_error());
    if (!waited) {
        EXPECT_EQ(waited.error().code, ErrorCode::Timeout) << waited.error().message;
    }
    EXPECT_EQ(client.figures().waiting, 0u);

    group.spawn("cancelled while waiting", one_slow(client, answered));
    co_await aio::sleep_until(aio::Deadline::in(milliseconds(1)));
    EXPECT_EQ(client.figures().waiting, 1u);
    group.cancel();
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    EXPECT_EQ(answered, 0);
    EXPECT_EQ(client.figures().in_flight, 0u);
    EXPECT_EQ(client.figures().waiting, 0u);
    EXPECT_EQ(client.figures().connections, 0u) << "an interrupted connection is not kept";
    EXPECT_EQ(server.handler.requests.size(), 1u) << "what waited was never sent";
    co_await server.stop();
}

TEST(HttpRoundtrip, a_waiting_request_ends_at_its_deadline_or_cancellation_and_frees_its_place) {
    aio::Loop loop;
    aio::run_to_end(loop, waiting_deadline_body(loop));
}

aio::Task<void> too_late_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    const Result<HttpResponse> first = co_await client.request(get("/hello"), soon());
    EXPECT_TRUE(first);
    const Result<HttpResponse> late =
        co_await client.request(post("/echo", "x"), aio::Deadline::in(milliseconds(-1)));
    EXPECT_TRUE(late.has_error());
    if (!late) {
        EXPECT_EQ(late.error().code, ErrorCode::Timeout);
    }
    const Result<HttpResponse> next = co_await client.request(get("/hello"), soon());
    EXPECT_TRUE(next);
    EXPECT_EQ(server.handler.requests.size(), 2u);
    EXPECT_EQ(client.figures().connections_opened, 1u);
    co_await server.stop();
}

TEST(HttpRoundtrip, a_request_whose_deadline_has_passed_is_not_sent) {
    aio::Loop loop;
    aio::run_to_end(loop, too_late_body(loop));
}

aio::Task<void> failure_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    const Result<HttpResponse> thrown = co_await client.request(get("/throw"), soon());
    EXPECT_TRUE(thrown);
    if (thrown) {
        EXPECT_EQ(thrown->status, 500);
        EXPECT_EQ(thrown->body.find("seeded"), std::string::npos) << "details stay inside";
    }
    const Result<HttpResponse> in_header = co_await client.request(get("/throw-header"), soon());
    EXPECT_TRUE(in_header);
    if (in_header) {
        EXPECT_EQ(in_header->status, 500);
    }
    EXPECT_EQ(server.handler.failures,
              (std::vector<std::string>{"seeded in on_request", "seeded in on_header"}));
    const Result<HttpResponse> split = co_await client.request(get("/split"), soon());
    EXPECT_TRUE(split);
    if (split) {
        EXPECT_FALSE(split->fields.has("Injected"));
    }
    co_await server.stop();
}

TEST(HttpRoundtrip, an_exception_of_the_handler_is_a_500_and_the_server_continues) {
    aio::Loop loop;
    aio::run_to_end(loop, failure_body(loop));
}

aio::Task<void> unsendable_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClient client{loop, server.origin()};
    std::vector<HttpRequest> requests(4, get("/hello"));
    requests[0].fields.set("X-A", "1\r\nX-B: 2");
    requests[1].target = "/a b";
    requests[2].method = "GET /x HTTP/1.1\r\n";
    requests[3].fields.set("X A", "1");
    for (const HttpRequest& request : requests) {
        const Result<HttpResponse> response = co_await client.request(request, soon());
        EXPECT_TRUE(response.has_error());
        if (!response) {
            EXPECT_EQ(response.error().code, ErrorCode::BadRequest);
        }
    }
    EXPECT_EQ(client.figures().connections_opened, 0u);
    co_await server.stop();
}

TEST(HttpRoundtrip, a_request_that_would_break_the_framing_is_not_sent) {
    aio::Loop loop;
    aio::run_to_end(loop, unsendable_body(loop));
}

aio::Task<void> unreachable_body(aio::Loop& loop) {
    HttpClientSettings origin;
    origin.host = "127.0.0.1";
    {
        TestServer server{loop};  // a port that was free just before
        origin.port = server.server.port();
        co_await server.stop();
    }
    HttpClient client{loop, origin};
    const Result<HttpResponse> response = co_await client.request(post("/echo", "x"), soon());
    EXPECT_TRUE(response.has_error());
    if (!response) {
        EXPECT_EQ(response.error().code, ErrorCode::Unreachable);
    }

    origin.host = "no-such-host.invalid";
    HttpClient nowhere{loop, origin};
    const Result<HttpResponse> unresolved = co_await nowhere.request(get("/"), soon());
    EXPECT_TRUE(unresolved.has_error());
    if (!unresolved) {
        EXPECT_EQ(unresolved.error().code, ErrorCode::Unreachable);
    }
}

TEST(HttpRoundtrip, an_origin_without_a_listener_is_unreachable) {
    aio::Loop loop;
    aio::run_to_end(loop, unreachable_body(loop));
}

aio::Task<void> second_bind_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpServerSettings settings;
    settings.port = server.server.port();
    HttpServer second{loop, settings, server.handler};
    const Result<void> started = second.start();
    EXPECT_TRUE(started.has_error());
    if (!started) {
        EXPECT_NE(started.error().message.find("in use"), std::string::npos);
    }
    co_await server.stop();
}

TEST(HttpRoundtrip, a_port_in_use_is_an_error_of_start) {
    aio::Loop loop;
    aio::run_to_end(loop, second_bind_body(loop));
}

aio::Task<void> idle_close_body(aio::Loop& loop) {
    TestServer server{loop};
    HttpClientSettings origin = server.origin();
    origin.idle_close = seconds(0);
    HttpClient client{loop, origin};
    const Result<HttpResponse> response = co_await client.request(get("/hello"), soon());
    EXPECT_TRUE(response);
    const auto deadline = soon();
    while (client.figures().connections > 0 && !deadline.passed()) {
        co_await aio::sleep_until(aio::Deadline::in(milliseconds(1)));
    }
    EXPECT_EQ(client.figures().connections, 0u);
    co_await server.stop();
}

TEST(HttpRoundtrip, an_idle_connection_is_closed_after_the_idle_timeout) {
    aio::Loop loop;
    aio::run_to_end(loop, idle_close_body(loop));
}

}  // namespace
}  // namespace gpuctl::net
