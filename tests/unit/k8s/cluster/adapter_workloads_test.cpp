// Workloads are created and removed on a server that may already hold objects of the same name.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "k8s/write/workload_maker.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;
using Json = nlohmann::json;

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
        JobRecord& job = order.job.emplace();
        job.uid = "job-1";
        job.spec.kind = JobKind::inference;
        job.spec.key = {"t", "web"};
        job.spec.image = "i";
        maker.create(order);
        return outcome();
    }
    WorkloadOutcome remove(bool force = false, std::string namespace_name = "t") {
        DeleteWorkload order;
        order.key = {std::move(namespace_name), "web"};
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

TEST_F(WorkloadMakerTest, creating_a_workload_of_this_job_twice_succeeds) {
    EXPECT_TRUE(create().done);
    EXPECT_TRUE(create().done);
}

TEST_F(WorkloadMakerTest, a_refused_workload_that_an_earlier_request_created_counts_as_created) {
    EXPECT_TRUE(create().done);
    objects.refuse["PATCH " + deployment] = 409;
    const auto made = create();
    EXPECT_TRUE(made.done) << made.message;
}

TEST_F(WorkloadMakerTest, a_refused_workload_that_does_not_exist_is_refused_for_good) {
    objects.refuse["PATCH " + deployment] = 409;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_FALSE(objects.stored.contains(deployment));
}

TEST_F(WorkloadMakerTest, a_workload_that_could_not_be_deleted_is_retried) {
    objects.refuse["PATCH " + service] = 422;
    objects.refuse["DELETE " + deployment] = 401;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_TRUE(made.retryable) << made.message;
}

TEST_F(WorkloadMakerTest, a_name_that_is_in_use_is_refused_for_good) {
    objects.stored["/apis/batch/v1/namespaces/t/jobs/web"] = {{"metadata", {{"uid", "x"}}}};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_NE(made.message.find("Job t/web exists already"), std::string::npos) << made.message;
    EXPECT_EQ(objects.count("PATCH " + deployment), 0);
}

TEST_F(WorkloadMakerTest, a_foreign_service_is_never_overwritten) {
    const Json theirs = {{"metadata", {{"uid", "x"}, {"labels", {{"team", "web"}}}}}};
    objects.stored[service] = theirs;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_NE(made.message.find("Service t/svc-web exists already"), std::string::npos)
        << made.message;
    EXPECT_EQ(objects.stored[service], theirs);
    EXPECT_FALSE(objects.stored.contains(deployment)) << "nothing is made that could not be used";
}

TEST_F(WorkloadMakerTest, the_service_of_an_earlier_job_is_waited_for) {
    objects.stored[service] = {
        {"metadata",
         {{"uid", "x"},
          {"labels",
           {{"runwhere.ai/job-type", "inference"}, {"runwhere.ai/job-uid", "earlier"}}}}}};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_TRUE(made.retryable) << made.message;
    objects.stored.erase(service);
    EXPECT_TRUE(create().done);
}

TEST_F(WorkloadMakerTest, a_priority_class_with_another_value_is_reported) {
    objects.stored["/apis/scheduling.k8s.io/v1/priorityclasses/gpuctl-medium"] = {{"value", 5}};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_NE(made.message.find("gpuctl-medium"), std::string::npos);
}

TEST_F(WorkloadMakerTest, a_workload_without_its_service_is_deleted_again) {
    objects.refuse["PATCH " + service] = 422;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_FALSE(objects.stored.contains(deployment));
}

TEST_F(WorkloadMakerTest, an_error_of_the_server_is_retryable) {
    objects.refuse["GET " + deployment] = 503;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_TRUE(made.retryable) << made.message;
}

TEST_F(WorkloadMakerTest, removing_workload_and_service_twice_succeeds) {
    EXPECT_TRUE(create().done);
    EXPECT_TRUE(remove().done);
    EXPECT_FALSE(objects.stored.contains(deployment));
    EXPECT_FALSE(objects.stored.contains(service));
    EXPECT_TRUE(remove().done);
}

TEST_F(WorkloadMakerTest, a_job_of_an_impossible_namespace_is_removed_without_a_request) {
    EXPECT_TRUE(remove(true, "..").done);
    EXPECT_TRUE(objects.log.empty());
}

TEST_F(WorkloadMakerTest, a_workload_of_another_owner_is_not_deleted) {
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

}  // namespace
}  // namespace gpuctl::k8s
