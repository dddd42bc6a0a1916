#include "k8s/cluster/server_probe.hpp"

#include <atomic>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;

class ServerProbeTest : public LoopTest {
protected:
    using ScriptedServer = test_support::ScriptedServer;

    // A server that answers 200, 500 or nothing at all, as `status` is 200, 500 or 0.
    void start() {
        server = std::make_unique<ScriptedServer>(
            [this](const test_support::SeenRequest&, ScriptedServer::Reply& reply) {
                const int now = status;
                if (now == 0) return reply.stall();
                reply.respond(now, now == 200 ? "ok" : "not yet");
            });
        client = client_of(*server);
        probe = std::make_unique<ServerProbe>(
            *client,
            ProbeSettings{milliseconds{10}, milliseconds{5}, milliseconds{50}, milliseconds{100}},
            [this] { ++returns; });
        group.spawn("probe", probe->run());
    }
    ~ServerProbeTest() override {
        group.cancel();
        (void)run(group.join(soon()));  // before the probe and the server are destroyed
    }

    std::atomic<int> status{200};
    int returns = 0;
    std::unique_ptr<ScriptedServer> server;
    std::unique_ptr<Client> client;
    std::unique_ptr<ServerProbe> probe;
};

TEST_F(ServerProbeTest, a_server_that_stops_answering_is_detected_and_its_return_is_reported_once) {
    start();
    ASSERT_TRUE(wait_for([&] { return probe->answering(); }));
    status = 0;
    ASSERT_TRUE(wait_for([&] { return !probe->answering(); }));
    EXPECT_TRUE(probe->ever_answered());
    EXPECT_NE(probe->last_error(), "");
    EXPECT_EQ(returns, 0);
    status = 200;
    ASSERT_TRUE(wait_for([&] { return probe->answering(); }));
    EXPECT_EQ(returns, 1);
    EXPECT_EQ(probe->last_error(), "");
}

TEST_F(ServerProbeTest, a_server_that_is_still_starting_has_not_returned) {
    status = 500;
    start();
    ASSERT_TRUE(wait_for([&] { return server->received().size() >= 3; }));
    EXPECT_EQ(returns, 0);
    EXPECT_TRUE(probe->answering()) << "an answer, though a bad one";
    status = 403;
    ASSERT_TRUE(wait_for([&] { return returns == 1; })) << "a refusal comes from a working server";
}

TEST_F(ServerProbeTest, no_probe_is_sent_while_other_requests_are_answered) {
    start();
    ASSERT_TRUE(wait_for([&] { return probe->answering(); }));
    const auto probes = [&] {
        const auto seen = server->received();
        return std::count_if(seen.begin(), seen.end(),
                             [](const auto& request) { return request.path() == "/readyz"; });
    };
    const auto before = probes();
    const auto until = aio::Clock::now() + milliseconds{40};
    while (aio::Clock::now() < until) {
        const auto answer = run(client->get("/version", soon()));
        ASSERT_TRUE(answer);
    }
    EXPECT_LE(probes(), before + 1) << "one may have been on its way";
}

}  // namespace
}  // namespace gpuctl::k8s
