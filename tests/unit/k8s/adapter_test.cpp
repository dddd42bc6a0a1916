// The whole adapter against a scripted API server: what it asks, what it tells, what it does when
// either side cannot keep up.

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "k8s/discovery.hpp"
#include "k8s/kubernetes_cluster.hpp"
#include "k8s/kubernetes_cluster_feeds.hpp"
#include "k8s/workload_maker.hpp"
#include "unit/k8s/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;
using Json = nlohmann::json;

struct Sink : ports::EventSink {
    std::vector<Event> events;
    std::size_t room = 1'000'000;
    bool offer(Event event) override {
        if (events.size() >= room) return false;
        events.push_back(std::move(event));
        return true;
    }
    template <typename T>
    [[nodiscard]] std::vector<T> all() const {
        std::vector<T> found;
        for (const Event& event : events) {
            if (const T* one = std::get_if<T>(&event)) found.push_back(*one);
        }
        return found;
    }
};

std::string pod_json(const std::string& name, const std::string& phase = "Pending",
                     const std::string& node = "") {
    Json pod = {
        {"metadata",
         {{"name", name}, {"namespace", "t"}, {"uid", "u-" + name}, {"resourceVersion", "5"}}},
        {"spec", {{"schedulerName", "gpuctl"}}},
        {"status", {{"phase", phase}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod.dump();
}

// --- feeds ---

class FeedTest : public LoopTest {
protected:
    FeedTest() {
        ClusterAccess access;
        access.https = false;
        access.host = "127.0.0.1";
        access.port = "1";
        client = client_of(access, {});
        writer = std::make_unique<StatusWriter>(loop, *client, 1, ConditionLedger::Settings{});
        outbox.attach(sink);
        feed = std::make_unique<PodFeed>(outbox, PodReadSettings{}, *writer, [] {});
    }
    bool tell(const std::string& name, const std::string& object) {
        return feed->on_object(Change::modified, {"t", name, "u-" + name, "5"}, object);
    }
    Sink sink;
    Outbox outbox{loop};
    std::unique_ptr<Client> client;
    std::unique_ptr<StatusWriter> writer;
    std::unique_ptr<PodFeed> feed;
};

TEST_F(FeedTest, an_update_without_news_is_no_event) {
    EXPECT_TRUE(tell("a", pod_json("a")));
    EXPECT_TRUE(tell("a", pod_json("a")));
    EXPECT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(feed->figures().unchanged, 1u);
    EXPECT_TRUE(tell("a", pod_json("a", "Running", "n1")));
    EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(FeedTest, M15_the_end_of_a_pod_is_told_by_its_phase_and_its_removal_by_nothing_else) {
    EXPECT_TRUE(tell("a", pod_json("a", "Running", "n1")));
    EXPECT_TRUE(tell("a", pod_json("a", "Succeeded", "n1")));
    // The last state of a deleted object may be older than what was told before.
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, pod_json("a", "Running", "n1")));
    ASSERT_EQ(sink.events.size(), 3u);
    EXPECT_EQ(std::get<PodObserved>(sink.events[1]).pod.phase, PodPhase::succeeded);
    EXPECT_EQ(std::get<PodRemoved>(sink.events[2]).uid, "u-a");
}

TEST_F(FeedTest, M1_another_schedulers_pod_is_told_when_it_takes_a_node_and_not_before) {
    Json pod = Json::parse(pod_json("a"));
    pod["spec"]["schedulerName"] = "default-scheduler";
    EXPECT_TRUE(tell("a", pod.dump()));
    EXPECT_TRUE(sink.events.empty());
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    EXPECT_TRUE(sink.events.empty());
    pod["spec"]["nodeName"] = "n1";
    EXPECT_TRUE(tell("a", pod.dump()));
    ASSERT_EQ(sink.events.size(), 1u);
    EXPECT_FALSE(std::get<PodObserved>(sink.events[0]).pod.ours);
}

TEST_F(FeedTest, what_a_full_sink_refused_is_told_again) {
    sink.room = 0;
    EXPECT_FALSE(tell("a", pod_json("a")));
    sink.room = 10;
    EXPECT_TRUE(tell("a", pod_json("a")));
    EXPECT_EQ(sink.events.size(), 1u);
    sink.room = 1;
    EXPECT_FALSE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    sink.room = 10;
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(FeedTest, an_outcome_waits_for_room_and_keeps_its_place) {
    sink.room = 0;
    outbox.deliver(BindOutcome{EffectId{1}, "u", BindResult::bound, ""});
    outbox.deliver(BindOutcome{EffectId{2}, "u", BindResult::bound, ""});
    EXPECT_FALSE(tell("a", pod_json("a")));  // not before them
    group.spawn("outbox", outbox.run());
    sink.room = 10;
    EXPECT_TRUE(wait_for([&] { return outbox.waiting() == 0; }));
    ASSERT_EQ(sink.events.size(), 2u);
    EXPECT_EQ(std::get<BindOutcome>(sink.events[1]).effect, EffectId{2});
}

TEST_F(FeedTest, an_unreadable_pod_is_counted_and_stops_nothing) {
    EXPECT_TRUE(tell("a", "{\"metadata\":"));
    EXPECT_EQ(feed->figures().unreadable, 1u);
    EXPECT_TRUE(tell("b", pod_json("b")));
    EXPECT_EQ(sink.events.size(), 1u);
}

// --- single effects ---

class EffectTest : public LoopTest {
protected:
    struct Always : WriteFence {
        bool open = true;
        [[nodiscard]] bool may_write(Epoch) const override { return open; }
    };

    BindOutcome bind_against(ScriptedServer::Script script) {
        ScriptedServer server{std::move(script)};
        ClientSettings settings;
        settings.write_timeout = std::chrono::milliseconds{300};
        auto client = client_of(server, settings);
        client->set_fence(&fence);
        std::optional<BindOutcome> outcome;
        BinderSettings binder_settings;
        binder_settings.timeout = std::chrono::milliseconds{300};
        Binder binder{group, *client, binder_settings,
                      [&](BindOutcome done) { outcome = std::move(done); }};
        BindPod order;
        order.id = EffectId{3};
        order.epoch = Epoch{1};
        order.pod = {{"t", "a"}, "u-a"};
        order.node = "n1";
        binder.bind(order);
        EXPECT_TRUE(wait_for([&] { return outcome.has_value() && binder.idle(); }));
        seen = server.received();
        return outcome.value_or(BindOutcome{});
    }
    [[nodiscard]] long posts() const {
        return std::count_if(seen.begin(), seen.end(),
                             [](const SeenRequest& request) { return request.method == "POST"; });
    }

    Always fence;
    std::vector<SeenRequest> seen;
};

TEST_F(EffectTest, a_created_binding_is_bound_with_one_request) {
    const auto outcome =
        bind_against([](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); });
    EXPECT_EQ(outcome.result, BindResult::bound);
    EXPECT_EQ(outcome.uid, "u-a");
    EXPECT_EQ(seen.size(), 1u);
}

TEST_F(EffectTest, M6_a_conflict_is_read_back_and_never_posted_again) {
    const auto outcome = bind_against([](const SeenRequest& request, Reply& reply) {
        if (request.method == "GET") return reply.respond(200, pod_json("a", "Running", "n2"));
        reply.respond(409,
                      R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409})");
    });
    EXPECT_EQ(outcome.result, BindResult::elsewhere);
    EXPECT_EQ(posts(), 1);
}

TEST_F(EffectTest, M7_a_binding_whose_answer_was_cut_is_bound_if_the_pod_says_so) {
    const auto outcome = bind_against([](const SeenRequest& request, Reply& reply) {
        if (request.method == "GET") return reply.respond(200, pod_json("a", "Pending", "n1"));
        reply.cut();
    });
    EXPECT_EQ(outcome.result, BindResult::bound);
    EXPECT_EQ(posts(), 1);
}

TEST_F(EffectTest, M7_a_binding_that_timed_out_is_asked_after_until_somebody_answers) {
    std::atomic<int> gets{0};
    const auto outcome = bind_against([&](const SeenRequest& request, Reply& reply) {
        if (request.method != "GET") return reply.stall();
        if (++gets < 2) return reply.cut();
        reply.respond(200, pod_json("a"));
    });
    EXPECT_EQ(outcome.result, BindResult::failed);  // surely unbound: may be tried again
    EXPECT_EQ(posts(), 1);
    EXPECT_GE(gets.load(), 2);
}

TEST_F(EffectTest, a_closed_fence_sends_nothing) {
    fence.open = false;
    const auto outcome =
        bind_against([](const SeenRequest&, Reply& reply) { reply.respond(201, "{}"); });
    EXPECT_EQ(outcome.result, BindResult::failed);
    EXPECT_TRUE(seen.empty());
}

// An API server of a few objects: GET, POST, apply and DELETE by path.
struct Objects {
    std::mutex mutex;
    std::map<std::string, Json> stored;
    std::vector<std::string> log;
    std::map<std::string, int> refuse;  // "METHOD path" -> status

    void serve(const SeenRequest& request, Reply& reply) {
        const std::lock_guard lock{mutex};
        const std::string path = request.path();
        log.push_back(request.method + " " + path);
        if (const auto it = refuse.find(log.back()); it != refuse.end()) {
            return reply.respond(it->second, R"({"kind":"Status","status":"Failure","code":)" +
                                                 std::to_string(it->second) + "}");
        }
        const auto found = stored.find(path);
        if (request.method == "PATCH") {
            Json body = Json::parse(request.body);
            body["metadata"]["uid"] = "uid-of-" + path;
            stored[path] = body;
            return reply.respond(200, body.dump());
        }
        if (request.method == "POST") {
            Json body = Json::parse(request.body);
            stored[path + "/" + body["metadata"]["name"].get<std::string>()] = body;
            return reply.respond(201, body.dump());
        }
        if (path.ends_with("/pods")) {
            Json items = Json::array();
            for (const auto& [key, value] : stored) {
                if (key.starts_with(path + "/")) items.push_back(value);
            }
            return reply.respond(200, Json{{"items", items}}.dump());
        }
        if (found == stored.end()) {
            return reply.respond(
                404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})");
        }
        const std::string text = found->second.dump();
        if (request.method == "DELETE") stored.erase(found);
        reply.respond(200, text);
    }
    [[nodiscard]] long count(const std::string& line) {
        const std::lock_guard lock{mutex};
        return std::count(log.begin(), log.end(), line);
    }
};

class WorkloadMakerTest : public LoopTest {
protected:
    WorkloadMakerTest() : client(client_of(server)) { client->set_fence(&fence); }

    WorkloadOutcome create() {
        CreateWorkload order;
        order.job.uid = "job-1";
        order.job.spec.kind = JobKind::inference;
        order.job.spec.key = {"t", "web"};
        order.job.spec.image = "i";
        maker.create(order);
        return outcome();
    }
    WorkloadOutcome remove(bool force = false) {
        DeleteWorkload order;
        order.key = {"t", "web"};
        order.kind = JobKind::inference;
        order.force = force;
        maker.remove(order);
        return outcome();
    }
    WorkloadOutcome outcome() {
        EXPECT_TRUE(wait_for([&] { return !done.empty() && maker.idle(); }));
        if (done.empty()) return {};
        const auto result = std::get<WorkloadOutcome>(done.back());
        done.clear();
        return result;
    }

    struct Always : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };
    const std::string deployment = "/apis/apps/v1/namespaces/t/deployments/web";
    const std::string service = "/api/v1/namespaces/t/services/svc-web";
    Objects objects;
    Always fence;
    ScriptedServer server{
        [this](const SeenRequest& request, Reply& reply) { objects.serve(request, reply); }};
    std::unique_ptr<Client> client;
    std::vector<Event> done;
    WorkloadMaker maker{group, *client, {}, [this](Event event) { done.push_back(event); }};
};

TEST_F(WorkloadMakerTest, makes_the_class_the_workload_and_its_owned_service) {
    const auto made = create();
    EXPECT_TRUE(made.done) << made.message;
    EXPECT_EQ(objects.stored["/apis/scheduling.k8s.io/v1/priorityclasses/gpuctl-medium"]["value"],
              500'000);
    EXPECT_EQ(objects.stored[service]["metadata"]["ownerReferences"][0]["uid"],
              "uid-of-" + deployment);
}

TEST_F(WorkloadMakerTest, making_what_is_made_already_for_this_job_succeeds) {
    EXPECT_TRUE(create().done);
    EXPECT_TRUE(create().done);
}

TEST_F(WorkloadMakerTest, a_name_that_somebody_else_uses_is_refused_for_good) {
    objects.stored["/apis/batch/v1/namespaces/t/jobs/web"] = {{"metadata", {{"uid", "x"}}}};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_NE(made.message.find("Job t/web exists already"), std::string::npos) << made.message;
    EXPECT_EQ(objects.count("PATCH " + deployment), 0);
}

TEST_F(WorkloadMakerTest, a_priority_class_with_another_value_is_reported) {
    objects.stored["/apis/scheduling.k8s.io/v1/priorityclasses/gpuctl-medium"] = {{"value", 5}};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_NE(made.message.find("gpuctl-medium"), std::string::npos);
}

TEST_F(WorkloadMakerTest, a_workload_without_its_service_is_taken_back) {
    objects.refuse["PATCH " + service] = 422;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_FALSE(objects.stored.contains(deployment));
}

TEST_F(WorkloadMakerTest, a_server_in_trouble_is_worth_another_try) {
    objects.refuse["GET " + deployment] = 503;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_TRUE(made.retryable) << made.message;
}

TEST_F(WorkloadMakerTest, removes_workload_and_service_and_twice_is_fine) {
    EXPECT_TRUE(create().done);
    EXPECT_TRUE(remove().done);
    EXPECT_FALSE(objects.stored.contains(deployment));
    EXPECT_FALSE(objects.stored.contains(service));
    EXPECT_TRUE(remove().done);
}

TEST_F(WorkloadMakerTest, what_was_not_made_by_us_is_left_alone) {
    objects.stored[deployment] = {{"metadata", {{"uid", "x"}}}};
    const auto removed = remove();
    EXPECT_FALSE(removed.done);
    EXPECT_TRUE(objects.stored.contains(deployment));
}

TEST_F(WorkloadMakerTest, pods_without_their_parent_are_collected) {
    for (const char* name : {"web-1", "web-2"}) {
        objects.stored[std::string("/api/v1/namespaces/t/pods/") + name] = {
            {"metadata", {{"name", name}, {"namespace", "t"}, {"uid", name}}}};
    }
    const auto removed = remove();
    EXPECT_TRUE(removed.done);
    EXPECT_EQ(removed.message, "deleted 2 pod(s) of t/web");
    EXPECT_TRUE(objects.stored.empty());
}

TEST_F(WorkloadMakerTest, a_bare_pod_is_never_deleted) {
    DeletePod order;
    order.pod = {{"t", "a"}, "u"};
    maker.delete_pod(order, false);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_FALSE(std::get<PodDeleteOutcome>(done[0]).deleted);
    EXPECT_TRUE(server.received().empty());
}

TEST_F(WorkloadMakerTest, a_pod_is_deleted_by_its_uid) {
    DeletePod order;
    order.pod = {{"t", "a"}, "u"};
    maker.delete_pod(order, true);
    EXPECT_TRUE(wait_for([&] { return !done.empty(); }));
    EXPECT_TRUE(std::get<PodDeleteOutcome>(done[0]).deleted);
    EXPECT_EQ(Json::parse(server.received().at(0).body)["preconditions"]["uid"], "u");
}

// --- discovery ---

TEST(Discovery, finds_the_newest_readable_version_of_what_is_served) {
    const auto offered = dialects_offered(R"({"kind":"APIGroupList","groups":[
      {"name":"scheduling.k8s.io","versions":[{"groupVersion":"scheduling.k8s.io/v1"},
        {"groupVersion":"scheduling.k8s.io/v1alpha2"}]},
      {"name":"scheduling.volcano.sh","versions":[{"groupVersion":"scheduling.volcano.sh/v1beta1"}]},
      {"name":"apps","versions":[{"groupVersion":"apps/v1"}]}]})");
    ASSERT_EQ(offered.size(), 2u);
    EXPECT_EQ(offered[0].group, "scheduling.volcano.sh");
    EXPECT_EQ(offered[1].version, "v1alpha2");
    EXPECT_TRUE(
        serves(R"({"resources":[{"name":"podgroups","verbs":["list","watch"]}]})", "podgroups"));
    EXPECT_FALSE(
        serves(R"({"resources":[{"name":"podgroups/status","verbs":["watch"]}]})", "podgroups"));
    EXPECT_FALSE(serves("<html>", "podgroups"));
}

// --- the whole ---

class ClusterTest : public LoopTest {
protected:
    static void serve(const SeenRequest& request, Reply& reply) {
        const std::string path = request.path();
        if (path == "/apis") return reply.respond(200, R"({"groups":[]})");
        if (path == "/api/v1/namespaces/kube-system") {
            return reply.respond(200, R"({"metadata":{"name":"kube-system","uid":"cluster-1"}})");
        }
        if (path == "/api/v1/pods" || path == "/api/v1/nodes") {
            const bool pods = path.ends_with("pods");
            if (request.has_query("watch")) {
                if (request.has_query("sendInitialEvents")) return reply.respond(422, "{}");
                reply.begin_chunked();
                return reply.stall();
            }
            const std::string item = pods ? pod_json("a") : std::string(R"({"metadata":{"name":"n1",
                "uid":"un","resourceVersion":"3"},"status":{"allocatable":{"cpu":"4","pods":"10"}}})");
            return reply.respond(
                200,
                R"({"kind":"List","metadata":{"resourceVersion":"7"},"items":[)" + item + "]}");
        }
        reply.respond(201, "{}");
    }
    std::string kubeconfig() {
        const std::string path = testing::TempDir() + "adapter-" + server.port() + ".yaml";
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

TEST_F(ClusterTest, tells_what_exists_then_that_this_was_all_and_carries_out_a_binding) {
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

TEST_F(ClusterTest, a_refused_list_is_told_again_until_the_sink_has_room) {
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
