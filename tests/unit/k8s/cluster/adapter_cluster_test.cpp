// The whole adapter against a scripted API server: its requests, its events, and what happens when
// either side cannot keep up.

#include <fstream>
#include <string>
#include <variant>

#include "k8s/cluster/kubernetes_cluster.hpp"
#include "unit/k8s/client/loop_fixture.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class ClusterTest : public LoopTest {
protected:
    static void serve(const SeenRequest& request, Reply& reply) {
        const std::string path = request.path();
        if (path == "/apis") return reply.respond(200, R"({"groups":[]})");
        if (path == "/api/v1/namespaces/kube-system") {
            return reply.respond(200, R"({"metadata":{"name":"kube-system","uid":"cluster-1"}})");
        }
        const bool is_empty = path.starts_with("/apis/batch/") || path.starts_with("/apis/apps/") ||
                              path.starts_with("/api/v1/persistentvolume") ||
                              path == "/api/v1/resourcequotas" || path == "/api/v1/namespaces";
        if (is_empty || path == "/api/v1/pods" || path == "/api/v1/nodes") {
            const bool pods = path.ends_with("pods");
            if (request.has_query("watch")) {
                if (request.has_query("sendInitialEvents")) return reply.respond(422, "{}");
                reply.begin_chunked();
                return reply.stall();
            }
            const std::string item = pods ? pod_json("a") : std::string(R"({"metadata":{"name":"n1",
                "uid":"un","resourceVersion":"3"},"status":{"allocatable":{"cpu":"4","pods":"10"}}})");
            return reply.respond(200,
                                 R"({"kind":"List","metadata":{"resourceVersion":"7"},"items":[)" +
                                     (is_empty ? "" : item) + "]}");
        }
        reply.respond(201, "{}");
    }
    std::string kubeconfig() {
        const std::string path =
            testing::TempDir() + "adapter-" + std::to_string(server.port()) + ".yaml";
        std::ofstream(path) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                            << "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:"
                            << server.port() << "\"}}]\n"
                            << "users: [{name: u, user: {token: t}}]\n"
                            << "contexts: [{name: c, context: {cluster: c, user: u}}]\n";
        return path;
    }
    ScriptedServer server{&ClusterTest::serve};
    Sink sink;
};

TEST_F(ClusterTest, reports_all_objects_then_synced_and_carries_out_a_binding) {
    KubernetesSettings settings;
    settings.kubeconfig = kubeconfig();
    settings.lease_enabled = false;
    auto cluster = KubernetesCluster::create(loop, settings);
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    const auto id = run((*cluster)->cluster_id(soon()));
    EXPECT_EQ(id.value(), "cluster-1");
    (*cluster)->start(sink);
    EXPECT_TRUE(wait_for([&] { return !sink.all<CacheSynced>().empty(); }));
    EXPECT_EQ(sink.all<PodObserved>().size(), 1u);
    EXPECT_EQ(sink.all<NodeObserved>().size(), 1u);
    EXPECT_TRUE(std::holds_alternative<CacheSynced>(sink.events.back()));
    ASSERT_EQ(sink.all<LeadershipChanged>().size(), 1u);
    EXPECT_TRUE(sink.all<LeadershipChanged>()[0].leading);

    BindPod order;
    order.epoch = sink.all<LeadershipChanged>()[0].epoch;
    order.pod = {{"t", "a"}, "u-a"};
    order.node = "n1";
    (*cluster)->carry_out(order);
    EXPECT_TRUE(wait_for([&] { return !sink.all<BindOutcome>().empty(); }));
    EXPECT_EQ(sink.all<BindOutcome>()[0].result, BindResult::bound);
    for (const auto& line : (*cluster)->health()) EXPECT_TRUE(line.ok) << line.name << line.detail;
    EXPECT_TRUE(run((*cluster)->stop(soon())));
}

TEST_F(ClusterTest, a_refused_list_is_reported_again_until_the_sink_has_room) {
    KubernetesSettings settings;
    settings.kubeconfig = kubeconfig();
    settings.lease_enabled = false;
    auto cluster = KubernetesCluster::create(loop, settings);
    ASSERT_TRUE(cluster.has_value());
    sink.room = 0;
    (*cluster)->start(sink);
    EXPECT_TRUE(wait_for([&] { return (*cluster)->figures().pods.handler_full > 0; }));
    sink.room = 100;
    EXPECT_TRUE(wait_for([&] { return !sink.all<CacheSynced>().empty(); }));
    EXPECT_EQ(sink.all<PodObserved>().size(), 1u);
    EXPECT_TRUE(run((*cluster)->stop(soon())));
}

}  // namespace
}  // namespace gpuctl::k8s
