// The client against a peer that sends exactly the test's bytes.

#include <gtest/gtest.h>

#include "unit/aio/run_on_loop.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;
using Scripts = std::vector<ScriptedPeer::Script>;

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

HttpRequest with_method(std::string method) {
    HttpRequest request;
    request.method = std::move(method);
    request.target = "/x";
    return request;
}

struct Seen {
    Result<HttpResponse> first = make_error(ErrorCode::Internal, "not asked");
    Result<HttpResponse> second = make_error(ErrorCode::Internal, "not asked");
    std::uint64_t opened = 0;
};

aio::Task<void> send_requests(aio::Loop& loop, HttpClientSettings origin, HttpRequest request,
                              int times, std::chrono::milliseconds patience, Seen& seen) {
    HttpClient client{loop, std::move(origin)};
    Result<HttpResponse> first = co_await client.request(request, aio::Deadline::in(patience));
    seen.first = std::move(first);
    if (times > 1) {
        Result<HttpResponse> second = co_await client.request(request, aio::Deadline::in(patience));
        seen.second = std::move(second);
    }
    seen.opened = client.figures().connections_opened;
}

Seen exchange(const ScriptedPeer& peer, const HttpRequest& request, int times = 1,
              std::chrono::milliseconds patience = std::chrono::seconds(30),
              std::size_t response_bytes_max = 1000) {
    aio::Loop loop;
    Seen seen;
    HttpClientSettings origin = peer.origin();
    origin.response_bytes_max = response_bytes_max;
    aio::run_to_end(loop, send_requests(loop, origin, request, times, patience, seen));
    return seen;
}

TEST(HttpClient, an_answer_that_never_comes_is_an_unknown_outcome) {
    const ScriptedPeer peer{Scripts{{{""}, false}}};
    const Seen seen = exchange(peer, with_method("POST"), 1, milliseconds(30));
    ASSERT_FALSE(seen.first);
    EXPECT_EQ(seen.first.error().code, ErrorCode::UnknownOutcome);
}

TEST(HttpClient, an_answer_cut_short_is_an_unknown_outcome) {
    for (const char* answer : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                               "HTTP/1.1 100 Continue\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
        const ScriptedPeer peer{Scripts{{{answer}}}};
        const Seen seen = exchange(peer, with_method("POST"));
        ASSERT_FALSE(seen.first) << answer;
        EXPECT_EQ(seen.first.error().code, ErrorCode::UnknownOutcome) << answer;
    }
}

TEST(HttpClient, a_response_that_is_not_http_is_an_unknown_outcome) {
    const ScriptedPeer peer{Scripts{{{"SSH-2.0-OpenSSH_9.2\r\n\r\n"}}}};
    const Seen seen = exchange(peer, with_method("GET"));
    ASSERT_FALSE(seen.first);
    EXPECT_EQ(seen.first.error().code, ErrorCode::UnknownOutcome);
}

TEST(HttpClient, answers_are_bounded_however_they_are_framed) {
    const std::string body(1001, 'x');
    const std::string lengths[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + body,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + body + "\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n" + body,
    };
    for (const std::string& answer : lengths) {
        const ScriptedPeer peer{Scripts{{{answer}}}};
        const Seen seen = exchange(peer, with_method("GET"));
        ASSERT_FALSE(seen.first) << answer.substr(0, 60);
        EXPECT_EQ(seen.first.error().code, ErrorCode::UnknownOutcome);
        const ScriptedPeer again{Scripts{{{answer}}}};
        const Seen allowed = exchange(again, with_method("GET"), 1, std::chrono::seconds(30), 1001);
        ASSERT_TRUE(allowed.first) << answer.substr(0, 60);
        EXPECT_EQ(allowed.first->body, body);
    }
}

TEST(HttpClient, a_header_without_end_is_bounded) {
    const ScriptedPeer peer{
        Scripts{{{"HTTP/1.1 200 OK\r\nX: " + std::string(64u << 10, 'x')}, false}}};
    const Seen seen = exchange(peer, with_method("GET"));
    ASSERT_FALSE(seen.first);
    EXPECT_EQ(seen.first.error().code, ErrorCode::UnknownOutcome);
}

TEST(HttpClient, interim_answers_are_skipped) {
    const ScriptedPeer peer{
        Scripts{{{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
                  "Link: x\r\n\r\n" +
                  kOk}}}};
    const Seen seen = exchange(peer, with_method("POST"));
    ASSERT_TRUE(seen.first) << seen.first.error().message;
    EXPECT_EQ(seen.first->status, 200);
    EXPECT_EQ(seen.first->body, "ok");
    EXPECT_FALSE(seen.first->fields.has("Link"));
}

TEST(HttpClient, trailers_do_not_become_fields) {
    const ScriptedPeer peer{
        Scripts{{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "2\r\nok\r\n0\r\nX-Late: yes\r\n\r\n"}}}};
    const Seen seen = exchange(peer, with_method("GET"));
    ASSERT_TRUE(seen.first);
    EXPECT_EQ(seen.first->body, "ok");
    EXPECT_FALSE(seen.first->fields.has("X-Late"));
}

TEST(HttpClient, a_connection_the_server_will_close_or_that_has_bytes_left_is_not_reused) {
    const std::string endings[] = {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        kOk + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    };
    for (const std::string& answer : endings) {
        const ScriptedPeer peer{Scripts{{{answer}, false}, {{kOk}, false}}};
        const Seen seen = exchange(peer, with_method("GET"), 2);
        ASSERT_TRUE(seen.first);
        ASSERT_TRUE(seen.second);
        EXPECT_EQ(seen.second->body, "ok");
        EXPECT_EQ(seen.opened, 2u);
    }
}

// One connection: the first request is answered, the second read and then the connection closed.
// The next connection answers.
const Scripts kHangsUpOnReuse{{{kOk, ""}}, {{kOk}, false}};

TEST(HttpClient, a_get_lost_with_a_reused_connection_is_sent_once_more) {
    const ScriptedPeer peer{kHangsUpOnReuse};
    const Seen seen = exchange(peer, with_method("GET"), 2);
    ASSERT_TRUE(seen.first);
    ASSERT_TRUE(seen.second) << seen.second.error().message;
    EXPECT_EQ(seen.second->body, "ok");
    EXPECT_EQ(seen.opened, 2u);
}

TEST(HttpClient, a_post_lost_with_a_reused_connection_is_never_sent_twice) {
    const ScriptedPeer peer{kHangsUpOnReuse};
    const Seen seen = exchange(peer, with_method("POST"), 2);
    ASSERT_TRUE(seen.first);
    ASSERT_FALSE(seen.second);
    EXPECT_EQ(seen.second.error().code, ErrorCode::UnknownOutcome);
    EXPECT_EQ(seen.opened, 1u);
}

TEST(HttpClient, a_get_lost_on_a_fresh_connection_is_not_repeated) {
    const ScriptedPeer peer{Scripts{{{""}}, {{kOk}}}};
    const Seen seen = exchange(peer, with_method("GET"));
    ASSERT_FALSE(seen.first);
    EXPECT_EQ(seen.opened, 1u);
}

aio::Task<void> idle_death_body(aio::Loop& loop, HttpClientSettings origin, Seen& seen) {
    HttpClient client{loop, std::move(origin)};
    Result<HttpResponse> first = co_await client.request(with_method("POST"), soon());
    seen.first = std::move(first);
    // The peer's FIN is on its way over loopback; give it far more time than it needs.
    co_await aio::sleep_until(aio::Deadline::in(milliseconds(200)));
    Result<HttpResponse> second = co_await client.request(with_method("POST"), soon());
    seen.second = std::move(second);
    seen.opened = client.figures().connections_opened;
}

TEST(HttpClient, a_connection_seen_closed_while_idle_is_replaced_before_a_post_is_risked_on_it) {
    const ScriptedPeer peer{Scripts{{{kOk}}, {{kOk}}}};
    aio::Loop loop;
    Seen seen;
    aio::run_to_end(loop, idle_death_body(loop, peer.origin(), seen));
    ASSERT_TRUE(seen.first);
    ASSERT_TRUE(seen.second) << seen.second.error().message;
    EXPECT_EQ(seen.opened, 2u);
}

}  // namespace
}  // namespace gpuctl::net
