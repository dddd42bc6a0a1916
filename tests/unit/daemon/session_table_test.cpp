// How many sessions there may be, what is counted of them, and the roles that may open one.

#include "daemon/api/sessions/session_table.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "net/websocket/websocket.hpp"
#include "unit/aio/run_on_loop.hpp"
#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl::api {
namespace {

using Kind = ports::SessionKind;

config::Server small_bounds() {
    config::Server bounds;
    bounds.sessions_max = 3;
    bounds.sessions_per_caller_max = 2;
    return bounds;
}

TEST(SessionTable, one_caller_cannot_take_the_sessions_of_all) {
    aio::Loop loop;
    SessionTable table{loop, small_bounds()};
    const SessionTable::Open first{table, Kind::exec, "ann"};
    std::optional<SessionTable::Open> second;
    second.emplace(table, Kind::port_forward, "ann");
    std::optional<Error> full = table.refusal("ann", "team-a/train-0");
    ASSERT_TRUE(full);
    EXPECT_EQ(full->code, ErrorCode::TooManyRequests);
    EXPECT_EQ(full->message,
              "open a session with pod team-a/train-0: ann has 2 open sessions already, which is "
              "the most for one caller (expert.server.sessionsPerCallerMax); end one, or retry "
              "later");
    EXPECT_FALSE(table.refusal("bob", "team-a/train-0"));
    second.reset();
    EXPECT_FALSE(table.refusal("ann", "team-a/train-0"));
}

TEST(SessionTable, all_callers_together_have_a_limit) {
    aio::Loop loop;
    SessionTable table{loop, small_bounds()};
    const SessionTable::Open first{table, Kind::exec, "ann"};
    const SessionTable::Open second{table, Kind::exec, "bob"};
    {
        const SessionTable::Open third{table, Kind::attach, "cid"};
        std::optional<Error> full = table.refusal("dan", "team-a/train-0");
        ASSERT_TRUE(full);
        EXPECT_EQ(full->message,
                  "open a session with pod team-a/train-0: 3 sessions are open already, which is "
                  "the most (expert.server.sessionsMax); end one, or retry later");
        EXPECT_EQ(table.figures().open, (SessionTable::ByKind{2, 1, 0}));
    }
    EXPECT_FALSE(table.refusal("dan", "team-a/train-0"));
    EXPECT_EQ(table.figures().open, (SessionTable::ByKind{2, 0, 0}));
}

aio::Task<void> waits_for_the_last(aio::Loop& loop) {
    SessionTable table{loop, small_bounds()};
    std::optional<SessionTable::Open> open;
    open.emplace(table, Kind::exec, "ann");
    const aio::Deadline soon = aio::Deadline::in(std::chrono::milliseconds{20});
    const bool early = co_await table.all_ended(soon);
    EXPECT_FALSE(early);
    loop.post([&open] { open.reset(); });
    const aio::Deadline later = aio::Deadline::in(std::chrono::seconds{10});
    const bool ended = co_await table.all_ended(later);
    EXPECT_TRUE(ended);
}

TEST(SessionTable, a_daemon_that_stops_can_wait_for_the_last_session) {
    aio::Loop loop;
    aio::run_to_end(loop, waits_for_the_last(loop));
}

constexpr const char* kSessionRoutes[] = {"/api/v1/jobs/llm/exec?command=ls",
                                          "/api/v1/jobs/llm/attach",
                                          "/api/v1/jobs/llm/portforward?port=80"};

aio::Task<net::HttpResponse> refused_upgrade(Daemon& daemon, std::string target,
                                             std::string token) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = std::move(target);
    if (!token.empty()) request.fields.set("Authorization", "Bearer " + token);
    const auto refusal = std::make_shared<net::HttpResponse>();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{10});
    net::WebSocketSettings settings;
    Result<std::unique_ptr<net::WebSocket>> socket = co_await net::connect_websocket(
        daemon.loop(), daemon.origin(), std::move(request), settings, deadline, refusal);
    EXPECT_FALSE(socket);
    co_return *refusal;
}

aio::Task<void> user_is_refused(Daemon& daemon) {
    for (const char* route : kSessionRoutes) {
        std::string target = route;
        std::string token = "user-token-0123456789";
        net::HttpResponse refused =
            co_await refused_upgrade(daemon, std::move(target), std::move(token));
        EXPECT_EQ(refused.status, 403) << refused.body;
        EXPECT_NE(refused.body.find("needs the role admin; the token of una has the role user. "
                                    "Roles are set in the file server.tokensFile of gpuctld; ask "
                                    "its operator"),
                  std::string::npos)
            << refused.body;
    }
}

TEST(SessionRoutes, a_user_is_refused_before_the_upgrade_with_a_sentence) {
    const TempDir directory;
    const std::string tokens = directory.path() + "/tokens";
    std::ofstream{tokens} << "user-token-0123456789 user una\n";
    ::chmod(tokens.c_str(), 0600);
    config::Config config = quick_config(directory.path());
    config.server.tokens_file = tokens;
    Daemon{config}.run(user_is_refused);
}

aio::Task<void> embedded_says_so(Daemon& daemon) {
    for (const char* route : kSessionRoutes) {
        std::string target = route;
        net::HttpResponse refused = co_await refused_upgrade(daemon, std::move(target), "");
        EXPECT_EQ(refused.status, 501) << refused.body;
        EXPECT_NE(refused.body.find("the pods of the embedded cluster are simulated and run no "
                                    "processes. Use a gpuctld with cluster.mode kubernetes"),
                  std::string::npos)
            << refused.body;
    }
    const net::HttpResponse metrics = co_await daemon.get("/metrics");
    for (const char* line :
         {"gpuctld_sessions{kind=\"exec\"} 0", "gpuctld_sessions_opened_total{kind=\"attach\"} 0",
          "gpuctld_sessions_failed_total{kind=\"portforward\",reason=\"refused\"} 1",
          "gpuctld_session_bytes_total{direction=\"to_pods\"} 0"}) {
        EXPECT_NE(metrics.body.find(line), std::string::npos) << line;
    }
}

TEST(SessionRoutes, the_embedded_cluster_says_that_its_pods_run_no_processes) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(embedded_says_so);
}

}  // namespace
}  // namespace gpuctl::api
