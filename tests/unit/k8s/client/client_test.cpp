#include "k8s/client/client.hpp"

#include <atomic>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class ClientTest : public LoopTest {
protected:
    static ClientSettings quick() {
        ClientSettings settings;
        settings.retry_backoff = {milliseconds{1}, milliseconds{4}, milliseconds{1'000}};
        return settings;
    }
    static ApiCall bind_call() {
        ApiCall call;
        call.method = "POST";
        call.path = "/api/v1/namespaces/n/pods/p/binding";
        call.body = R"({"kind":"Binding"})";
        call.lane = Lane::binds;
        call.retry = RetryClass::keyed;
        return call;
    }
};

TEST_F(ClientTest, a_request_carries_identity_agent_and_content_type) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); }};
    ClientSettings settings = quick();
    settings.user_agent = user_agent("gpuctld", "1.2", "0123456789");
    auto client = client_of(server, settings);
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 201);
    const auto seen = server.received().at(0);
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.header("Authorization"), "Bearer secret");
    EXPECT_EQ(seen.header("Content-Type"), "application/json");
    EXPECT_EQ(seen.header("Accept"), "application/json");
    EXPECT_TRUE(seen.header("User-Agent").starts_with("gpuctld/1.2 (linux/"));
    EXPECT_TRUE(seen.header("User-Agent").ends_with("kubernetes/0123456"));
    EXPECT_EQ(seen.body, R"({"kind":"Binding"})");
}

TEST_F(ClientTest, a_conflict_is_an_answer_and_is_not_sent_again) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) {
        reply.respond(409,
                      R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409})");
    }};
    auto client = client_of(server, quick());
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::Conflict);
    EXPECT_EQ(answer.error().reason, "Conflict");
    EXPECT_EQ(server.received().size(), 1u);
}

TEST_F(ClientTest, a_write_with_a_lost_answer_is_unknown_and_sent_only_once) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.cut(); }};
    auto client = client_of(server, quick());
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::UnknownOutcome);
    EXPECT_EQ(server.received().size(), 1u);
    EXPECT_EQ(client->figures().unknown_outcomes, 1u);
}

TEST_F(ClientTest, a_write_that_times_out_is_unknown) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.stall(); }};
    auto client = client_of(server, quick());
    const auto answer = run(client->call(bind_call(), aio::Deadline::in(milliseconds{100})));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::UnknownOutcome);
    EXPECT_EQ(server.received().size(), 1u);
}

TEST_F(ClientTest, a_500_to_a_write_is_unknown_and_not_repeated) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(500, "oops"); }};
    auto client = client_of(server, quick());
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::UnknownOutcome);
    EXPECT_EQ(answer.error().http_status, 500);
    EXPECT_EQ(server.received().size(), 1u);
}

TEST_F(ClientTest, a_throttled_write_waits_for_the_retry_after_of_the_server) {
    std::atomic<int> count{0};
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) {
        if (++count == 1) return reply.respond(429, "", {{"Retry-After", "1"}});
        reply.respond(201, "{}");
    }};
    auto client = client_of(server, quick());
    const auto began = aio::Clock::now();
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_GE(aio::Clock::now() - began, seconds{1});
    EXPECT_EQ(client->figures().throttled, 1u);
    EXPECT_EQ(client->figures().retries, 1u);
}

TEST_F(ClientTest, a_wait_beyond_the_deadline_is_not_begun) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) {
        reply.respond(429, "", {{"Retry-After", "3600"}});
    }};
    auto client = client_of(server, quick());
    const auto answer = run(client->call(bind_call(), soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::TooManyRequests);
    EXPECT_EQ(answer.error().retry_after, seconds{3'600});
    EXPECT_EQ(server.received().size(), 1u);
}

TEST_F(ClientTest, a_read_outlives_errors_cuts_and_garbage_statuses) {
    std::atomic<int> count{0};
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) {
        switch (++count) {
            case 1:
                return reply.respond(500, "oops");
            case 2:
                return reply.cut();
            case 3:
                return reply.respond(503, "", {{"Retry-After", "0"}});
            case 4:
                reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
                return reply.cut();
            default:
                reply.respond(200, R"({"kind":"Pod"})");
        }
    }};
    auto client = client_of(server, quick());
    const auto answer = run(client->get("/api/v1/namespaces/n/pods/p", soon()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, R"({"kind":"Pod"})");
}

TEST_F(ClientTest, a_read_gives_up_after_its_attempts) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(500, "oops"); }};
    ClientSettings settings = quick();
    settings.attempts_max = 3;
    auto client = client_of(server, settings);
    const auto answer = run(client->get("/x", soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::ClusterUnavailable);
    EXPECT_EQ(server.received().size(), 3u);
}

TEST_F(ClientTest, an_absent_server_is_unreachable_for_reads_and_writes_alike) {
    std::uint16_t port = 0;
    {
        port = ScriptedServer{[](const SeenRequest&, Reply&) {}}.port();
    }
    ClusterAccess access;
    access.server = {false, "127.0.0.1", port, ""};
    ClientSettings settings = quick();
    settings.attempts_max = 2;
    auto client = client_of(access, settings);
    EXPECT_EQ(run(client->get("/x", soon())).error().code, ErrorCode::Unreachable);
    EXPECT_EQ(run(client->call(bind_call(), soon())).error().code, ErrorCode::Unreachable);
}

TEST_F(ClientTest, a_redirect_is_reported_and_not_followed) {
    ScriptedServer elsewhere{[](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    const std::string target = "http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/api";
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) {
        reply.respond(307, "moved", {{"Location", target}});
    }};
    ClusterAccess access;
    access.server = {false, "127.0.0.1", server.port(), ""};
    access.token = "s3cret-token";
    auto client = client_of(access, quick());
    const auto answer = run(client->get("/api/v1/pods", soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::ProtocolError);
    EXPECT_NE(answer.error().message.find("redirects to " + target), std::string::npos)
        << answer.error().message;
    const auto stream = run(client->open_stream("/api/v1/pods?watch=true", soon()));
    ASSERT_FALSE(stream);
    EXPECT_NE(stream.error().message.find("redirects to " + target), std::string::npos)
        << stream.error().message;
    EXPECT_EQ(server.received().at(0).header("Authorization"), "Bearer s3cret-token");
    EXPECT_TRUE(elsewhere.received().empty());
}

TEST_F(ClientTest, a_failure_status_inside_a_201_is_a_failure) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) {
        reply.respond(
            201,
            R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429})");
    }};
    auto client = client_of(server, quick());
    ApiCall call = bind_call();
    call.retry = RetryClass::never;
    const auto answer = run(client->call(call, soon()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::TooManyRequests);
    EXPECT_EQ(server.received().size(), 1u);
}

struct Fence : WriteFence {
    std::atomic<Epoch> open_for{Epoch{}};  // also set by the server's threads
    [[nodiscard]] bool may_write(Epoch epoch) const override { return epoch == open_for; }
};

TEST_F(ClientTest, a_fenced_write_is_not_sent_once_the_lease_is_lost) {
    Fence fence;
    std::atomic<int> count{0};
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) {
        if (++count > 1) return reply.respond(201, "{}");
        fence.open_for = Epoch{8};  // another term, before the retry
        reply.respond(429, "", {{"Retry-After", "0"}});
    }};
    auto client = client_of(server, quick());
    ApiCall call = bind_call();
    call.fenced_by = Epoch{7};
    EXPECT_EQ(run(client->call(call, soon())).error().code, ErrorCode::NotLeader) << "no fence yet";
    client->set_fence(&fence);
    EXPECT_EQ(run(client->call(call, soon())).error().code, ErrorCode::NotLeader);
    EXPECT_EQ(server.received().size(), 0u);
    fence.open_for = Epoch{7};
    const auto answer = run(client->call(call, soon()));
    ASSERT_FALSE(answer) << "the fence is asked before each sending";
    EXPECT_EQ(answer.error().code, ErrorCode::NotLeader);
    EXPECT_EQ(server.received().size(), 1u);
    EXPECT_EQ(client->figures().refused_by_fence, 3u);
    client->set_fence(nullptr);
}

TEST_F(ClientTest, a_fenced_write_ends_within_the_write_timeout) {
    Fence fence;
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.stall(); }};
    ClientSettings settings = quick();
    settings.write_timeout = milliseconds{50};
    auto client = client_of(server, settings);
    client->set_fence(&fence);
    ApiCall call = bind_call();
    call.fenced_by = Epoch{};
    const auto until = aio::Deadline::in(seconds{3'600});
    EXPECT_EQ(run(client->call(call, until)).error().code, ErrorCode::UnknownOutcome);
    client->set_fence(nullptr);
}

aio::Task<void> send_one(Client& client, ApiCall call, int& done) {
    const ApiResult<ApiResponse> answer = co_await client.call(std::move(call), soon());
    if (answer) ++done;
}

TEST_F(ClientTest, the_lease_gets_through_while_every_other_connection_is_stuck) {
    std::mutex mutex;
    std::condition_variable released;
    bool release = false;
    ScriptedServer server{[&](const SeenRequest& request, Reply& reply) {
        if (request.method != "PUT") {
            std::unique_lock lock{mutex};
            released.wait_for(lock, seconds{10}, [&] { return release; });
        }
        reply.respond(200, "{}");
    }};
    ClientSettings settings = quick();
    settings.binds_in_flight_max = 4;
    settings.unary_in_flight_max = 2;
    auto client = client_of(server, settings);
    int bound = 0;
    int read = 0;
    for (int i = 0; i < 12; ++i) group.spawn("bind", send_one(*client, bind_call(), bound));
    ApiCall slow_read;
    slow_read.path = "/slow";
    for (int i = 0; i < 5; ++i) group.spawn("read", send_one(*client, slow_read, read));
    ASSERT_TRUE(wait_for([&] { return server.received().size() == 4 + 2; }));
    EXPECT_EQ(client->figures().binds_in_flight, 4u);
    EXPECT_EQ(client->figures().binds_waiting, 8u);
    ApiCall renew;
    renew.method = "PUT";
    renew.path = "/lease";
    renew.lane = Lane::lease;
    const auto answer = run(client->call(renew, aio::Deadline::in(seconds{5})));
    EXPECT_TRUE(answer);
    EXPECT_EQ(bound + read, 0);
    {
        const std::lock_guard lock{mutex};
        release = true;
    }
    released.notify_all();
    EXPECT_TRUE(wait_for([&] { return bound == 12 && read == 5; }));
}

TEST_F(ClientTest, an_idle_connection_the_server_closed_is_replaced_for_reads) {
    std::atomic<int> count{0};
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) {
        reply.respond(200, "{}");
        if (++count == 1) reply.cut();
    }};
    auto client = client_of(server, quick());
    EXPECT_TRUE(run(client->get("/a", soon())));
    EXPECT_TRUE(run(client->get("/b", soon())));
}

TEST_F(ClientTest, figures_count_requests_by_verb_and_code) {
    ScriptedServer server{[](const SeenRequest& request, Reply& reply) {
        reply.respond(request.target == "/none" ? 404 : 200, "{}", {{"Warning", "299 - \"old\""}});
    }};
    auto client = client_of(server, quick());
    (void)run(client->get("/x", soon()));
    (void)run(client->get("/none", soon()));
    EXPECT_EQ(client->figures().requests.at({"GET", 200}), 1u);
    EXPECT_EQ(client->figures().requests.at({"GET", 404}), 1u);
    EXPECT_EQ(client->figures().latency.at("GET").count, 2u);
    EXPECT_EQ(client->figures().warnings.size(), 1u);
}

aio::Task<std::string> read_stream(Client& client, std::string path) {
    ApiResult<std::unique_ptr<Client::Stream>> stream = co_await client.open_stream(path, soon());
    if (!stream) co_return "refused: " + std::string{to_string(stream.error().code)};
    std::string text;
    for (;;) {
        const Result<bool> more = co_await (*stream)->read_some(text, soon());
        if (!more) co_return text + " error: " + std::string{to_string(more.error().code)};
        if (!*more) co_return text;
    }
}

TEST_F(ClientTest, a_stream_gives_the_bytes_as_they_come_and_says_when_it_was_cut) {
    ScriptedServer server{[](const SeenRequest& request, Reply& reply) {
        if (request.target == "/gone") {
            return reply.respond(410, R"({"kind":"Status","reason":"Expired","code":410})");
        }
        reply.begin_chunked();
        reply.chunk("one ");
        reply.chunk("two");
        request.target == "/cut" ? reply.cut() : reply.end_chunked();
    }};
    auto client = client_of(server, quick());
    EXPECT_EQ(run(read_stream(*client, "/whole")), "one two");
    EXPECT_TRUE(run(read_stream(*client, "/cut")).starts_with("one two error: "));
    EXPECT_EQ(run(read_stream(*client, "/gone")), "refused: Gone");
}

}  // namespace
}  // namespace gpuctl::k8s
