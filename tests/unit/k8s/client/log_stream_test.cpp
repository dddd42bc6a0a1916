#include "k8s/client/log_stream.hpp"

#include <atomic>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class LogStreamTest : public LoopTest {};

aio::Task<std::string> read_log(KubernetesLogs& logs, ports::LogRequest request) {
    Result<std::unique_ptr<ports::LogStream>> stream = co_await logs.open(request, soon());
    if (!stream) co_return "refused: " + std::string{to_string(stream.error().code)};
    std::string text;
    for (;;) {
        const Result<bool> more = co_await (*stream)->read_some(text, soon());
        if (!more) co_return text + " error: " + std::string{to_string(more.error().code)};
        if (!*more) co_return text;
    }
}

ports::LogRequest request_of(std::string uid) {
    ports::LogRequest request;
    request.pod = {"team", "llm-0"};
    request.uid = std::move(uid);
    return request;
}

TEST(LogPath, every_option_becomes_a_query_parameter) {
    ports::LogRequest request = request_of("u");
    EXPECT_EQ(log_path(request), "/api/v1/namespaces/team/pods/llm-0/log?timestamps=true");
    request.container = "main";
    request.follow = true;
    request.tail_lines = 5;
    request.previous = true;
    request.since_time = "2026-01-02T03:04:05+01:00";
    EXPECT_EQ(log_path(request),
              "/api/v1/namespaces/team/pods/llm-0/log?timestamps=true&follow=true&container=main"
              "&previous=true&tailLines=5&sinceTime=2026-01-02T03%3A04%3A05%2B01%3A00");
}

TEST_F(LogStreamTest, lines_come_as_they_are_written_until_the_log_ends) {
    ScriptedServer server{[](const SeenRequest& request, Reply& reply) {
        if (request.path().ends_with("/llm-0")) {
            return reply.respond(200, R"({"kind":"Pod","metadata":{"name":"llm-0","uid":"u1"}})");
        }
        reply.begin_chunked();
        reply.chunk("2026-01-01T00:00:00Z one\n2026-01-0");
        reply.chunk("1T00:00:01Z two\n");
        reply.end_chunked();
    }};
    auto client = client_of(server);
    KubernetesLogs logs{*client};
    EXPECT_EQ(run(read_log(logs, request_of("u1"))),
              "2026-01-01T00:00:00Z one\n2026-01-01T00:00:01Z two\n");
}

TEST_F(LogStreamTest, the_log_of_a_successor_with_the_same_name_is_not_returned) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) {
        reply.respond(200, R"({"kind":"Pod","metadata":{"name":"llm-0","uid":"u2"}})");
    }};
    auto client = client_of(server);
    KubernetesLogs logs{*client};
    EXPECT_EQ(run(read_log(logs, request_of("u1"))), "refused: NotFound");
    EXPECT_EQ(server.received().size(), 1u);
}

// Regression: without a container name the API server answers 400 for a pod with several, and a
// follower retried for ever without a message.
TEST_F(LogStreamTest, of_several_containers_the_default_one_is_read) {
    std::string annotations;
    ScriptedServer server{[&](const SeenRequest& request, Reply& reply) {
        if (!request.path().ends_with("/llm-0")) return reply.respond(200, request.target + "\n");
        reply.respond(200, R"({"metadata":{"uid":"u1","annotations":{)" + annotations +
                               R"(}},"spec":{"initContainers":[{"name":"fetch"}],)" +
                               R"("containers":[{"name":"train"},{"name":"mesh"}]}})");
    }};
    auto client = client_of(server);
    KubernetesLogs logs{*client};
    const auto read_of = [&](const char* container) {
        ports::LogRequest request = request_of("u1");
        request.container = container;
        return run(read_log(logs, std::move(request)));
    };
    EXPECT_NE(read_of("").find("container=train"), std::string::npos);
    EXPECT_NE(read_of("fetch").find("container=fetch"), std::string::npos);
    EXPECT_EQ(read_of("unknown"), "refused: NotFound");
    annotations = R"("kubectl.kubernetes.io/default-container":"mesh")";
    EXPECT_NE(read_of("").find("container=mesh"), std::string::npos);
    annotations = R"("kubectl.kubernetes.io/default-container":"gone")";
    EXPECT_NE(read_of("").find("container=train"), std::string::npos);
}

TEST_F(LogStreamTest, a_container_that_has_not_started_and_a_missing_pod_have_distinct_errors) {
    std::atomic<int> status{400};
    ScriptedServer server{[&](const SeenRequest& request, Reply& reply) {
        if (status == 400 && request.path().ends_with("/llm-0")) {
            return reply.respond(200, R"({"kind":"Pod","metadata":{"name":"llm-0","uid":"u1"}})");
        }
        reply.respond(
            status,
            R"({"kind":"Status","status":"Failure","message":"waiting to start: ContainerCreating","reason":"BadRequest"})");
    }};
    auto client = client_of(server);
    KubernetesLogs logs{*client};
    EXPECT_EQ(run(read_log(logs, request_of(""))), "refused: BadRequest");
    status = 404;
    EXPECT_EQ(run(read_log(logs, request_of(""))), "refused: NotFound");
}

TEST_F(LogStreamTest, a_cut_upstream_is_an_error_and_not_the_end_of_the_log) {
    ScriptedServer server{[](const SeenRequest& request, Reply& reply) {
        if (request.path().ends_with("/llm-0")) {
            return reply.respond(200, R"({"kind":"Pod","metadata":{"name":"llm-0","uid":"u1"}})");
        }
        reply.begin_chunked();
        reply.chunk("line\n");
        reply.cut();
    }};
    auto client = client_of(server);
    KubernetesLogs logs{*client};
    EXPECT_TRUE(run(read_log(logs, request_of(""))).starts_with("line\n error: "));
}

}  // namespace
}  // namespace gpuctl::k8s
