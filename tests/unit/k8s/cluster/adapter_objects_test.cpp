// The claims and the ConfigMap of a job are created around its workload, on a server that may
// already hold objects of the same name.

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

using StoreJson = nlohmann::json;

// Objects by path. A dry run stores nothing.
struct ObjectStore {
    std::mutex mutex;
    std::map<std::string, StoreJson> stored;
    std::vector<std::string> log;           // "METHOD path", with " dry" for a dry run
    std::map<std::string, int> refuse;      // a line of the log -> status
    std::map<std::string, int> store_then;  // the same, after the object was stored

    void serve(const test_support::SeenRequest& request,
               test_support::ScriptedServer::Reply& reply) {
        const std::lock_guard lock{mutex};
        const bool is_dry = request.has_query("dryRun");
        std::string path = request.path();
        log.push_back(request.method + " " + path + (is_dry ? " dry" : ""));
        const auto fail = [&reply](int status) {
            reply.respond(status, R"({"kind":"Status","status":"Failure","code":)" +
                                      std::to_string(status) + "}");
        };
        if (const auto it = refuse.find(log.back()); it != refuse.end()) return fail(it->second);
        if (request.method == "PATCH" || request.method == "POST") {
            StoreJson body = StoreJson::parse(request.body);
            if (request.method == "POST") path += "/" + body["metadata"]["name"].get<std::string>();
            body["metadata"]["uid"] = "uid-of-" + path;
            if (!is_dry) stored[path] = body;
            if (const auto it = store_then.find(log.back()); it != store_then.end()) {
                return fail(it->second);
            }
            return reply.respond(201, body.dump());
        }
        if (path.ends_with("/pods")) {
            StoreJson items = StoreJson::array();
            for (const auto& [key, value] : stored) {
                if (key.starts_with(path + "/")) items.push_back(value);
            }
            return reply.respond(200, StoreJson{{"items", items}}.dump());
        }
        const auto found = stored.find(path);
        if (found == stored.end()) return fail(404);
        const std::string text = found->second.dump();
        if (request.method == "DELETE") stored.erase(found);
        reply.respond(200, text);
    }
    [[nodiscard]] long position(const std::string& line) {
        const std::lock_guard lock{mutex};
        const auto at = std::find(log.begin(), log.end(), line);
        return at == log.end() ? -1 : at - log.begin();
    }
};

class JobObjectsTest : public LoopTest {
public:
    using LoopTest::run;
    JobObjectsTest() : client(client_of(server)) {
        client->set_fence(&fence);
        job.uid = "job-1";
        job.spec.kind = JobKind::training;
        job.spec.key = {"t", "sft"};
        job.spec.image = "i";
        job.spec.command = {"train", "ds_config.json"};
        job.spec.claims = {{"data", "/data", Bytes{1LL << 30}, ""}};
    }
    WorkloadOutcome create() {
        CreateWorkload order;
        order.job.emplace() = job;
        maker.create(order);
        EXPECT_TRUE(wait_for([&] { return !done.empty() && maker.idle(); }));
        if (done.empty()) return {};
        const auto result = std::get<WorkloadOutcome>(done.back());
        done.clear();
        return result;
    }
    WorkloadOutcome remove() {
        DeleteWorkload order;
        order.key = job.spec.key;
        order.kind = job.spec.kind;
        maker.remove(order);
        EXPECT_TRUE(wait_for([&] { return !done.empty() && maker.idle(); }));
        if (done.empty()) return {};
        const auto result = std::get<WorkloadOutcome>(done.back());
        done.clear();
        return result;
    }
    // A pod with our labels that job t/NAME has left behind.
    StoreJson& add_pod(const std::string& name, const std::string& job_name = "sft") {
        StoreJson& pod = store.stored["/api/v1/namespaces/t/pods/" + name];
        pod = {{"metadata",
                {{"name", name},
                 {"namespace", "t"},
                 {"uid", "uid-" + name},
                 {"labels", {{"app", job_name}, {"runwhere.ai/job-type", "inference"}}}}}};
        return pod;
    }
    Result<ports::Orphans> remove_orphans() {
        return run(maker.remove_orphans({"t", "sft"}, false, Epoch{1}));
    }
    struct Leads : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };
    const std::string workload = "/apis/batch/v1/namespaces/t/jobs/sft";
    const std::string claims = "/api/v1/namespaces/t/persistentvolumeclaims";
    const std::string claim = claims + "/sft-data";
    const std::string config_map = "/api/v1/namespaces/t/configmaps/sft-deepspeed";
    ObjectStore store;
    Leads fence;
    test_support::ScriptedServer server{
        [this](const test_support::SeenRequest& request,
               test_support::ScriptedServer::Reply& reply) { store.serve(request, reply); }};
    std::unique_ptr<Client> client;
    std::vector<Event> done;
    JobRecord job;
    WorkloadMaker maker{group, *client, {}, [this](Event event) { done.push_back(event); }};
};

TEST_F(JobObjectsTest, claims_come_before_the_workload_and_its_config_map_after_it) {
    const auto made = create();
    EXPECT_TRUE(made.done) << made.message;
    const long tried = store.position("PATCH " + workload + " dry");
    const long claimed = store.position("POST " + claims);
    const long worked = store.position("PATCH " + workload);
    const long configured = store.position("PATCH " + config_map);
    EXPECT_LE(0, tried);
    EXPECT_LT(tried, claimed);
    EXPECT_LT(claimed, worked);
    EXPECT_LT(worked, configured);
    EXPECT_EQ(store.stored[config_map]["metadata"]["ownerReferences"][0]["uid"],
              "uid-of-" + workload);
}

TEST_F(JobObjectsTest, a_workload_that_would_be_refused_leaves_no_claim) {
    store.refuse["PATCH " + workload + " dry"] = 422;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_FALSE(store.stored.contains(claim));
    EXPECT_FALSE(store.stored.contains(workload));
}

TEST_F(JobObjectsTest, a_claim_whose_answer_was_lost_is_found_by_the_next_attempt) {
    store.store_then["POST " + claims] = 504;
    const auto lost = create();
    EXPECT_FALSE(lost.done);
    EXPECT_TRUE(lost.retryable) << lost.message;
    EXPECT_FALSE(store.stored.contains(workload));
    store.store_then.clear();
    const auto made = create();
    EXPECT_TRUE(made.done) << made.message;
}

TEST_F(JobObjectsTest, the_data_of_an_earlier_job_of_this_name_is_used_again) {
    EXPECT_TRUE(create().done);
    store.stored.erase(workload);  // deleted, and its ConfigMap with it
    store.stored.erase(config_map);
    store.stored[claim]["metadata"]["uid"] = "first";
    job.uid = "job-2";
    const auto made = create();
    EXPECT_TRUE(made.done) << made.message;
    EXPECT_EQ(store.stored[claim]["metadata"]["uid"], "first");
}

TEST_F(JobObjectsTest, a_claim_of_another_size_is_refused_before_anything_is_made) {
    EXPECT_TRUE(create().done);
    store.stored.erase(workload);
    store.stored.erase(config_map);
    job.uid = "job-2";
    job.spec.claims[0].size = Bytes{2LL << 30};
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_NE(made.message.find("exists with 1Gi and storage.data.size is 2Gi"), std::string::npos)
        << made.message;
    EXPECT_FALSE(store.stored.contains(workload));
}

TEST_F(JobObjectsTest, a_dry_run_checks_the_claims_and_creates_nothing) {
    const auto accepted = run(maker.try_create(job, Epoch{1}));
    EXPECT_TRUE(accepted.has_value());
    EXPECT_TRUE(store.stored.empty());
    EXPECT_LE(0, store.position("POST " + claims + " dry"));
    store.refuse["POST " + claims + " dry"] = 403;
    EXPECT_FALSE(run(maker.try_create(job, Epoch{1})).has_value());
}

TEST_F(JobObjectsTest, a_foreign_config_map_is_never_overwritten) {
    const StoreJson theirs = {{"metadata", {{"uid", "x"}}}, {"data", {{"a", "b"}}}};
    store.stored[config_map] = theirs;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_NE(made.message.find("ConfigMap t/sft-deepspeed exists already"), std::string::npos)
        << made.message;
    EXPECT_EQ(store.stored[config_map], theirs);
    EXPECT_FALSE(store.stored.contains(workload));
}

TEST_F(JobObjectsTest, a_workload_without_its_config_map_is_deleted_again) {
    store.refuse["PATCH " + config_map] = 422;
    const auto made = create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_FALSE(store.stored.contains(workload));
}

TEST_F(JobObjectsTest, orphans_are_pods_with_our_labels_that_nothing_creates_again) {
    add_pod("sft-1");
    add_pod("sft-2");
    add_pod("other-1", "other");
    add_pod("foreign")["metadata"]["labels"].erase("runwhere.ai/job-type");
    add_pod("owned")["metadata"]["ownerReferences"] = {{{"controller", true}, {"uid", "x"}}};
    add_pod("ending")["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    const auto removed = remove_orphans();
    ASSERT_TRUE(removed.has_value());
    EXPECT_EQ(removed->pods, 2);
    EXPECT_FALSE(removed->service);
    EXPECT_FALSE(store.stored.contains("/api/v1/namespaces/t/pods/sft-1"));
    for (const char* kept : {"other-1", "foreign", "owned", "ending"}) {
        EXPECT_TRUE(store.stored.contains("/api/v1/namespaces/t/pods/" + std::string{kept}))
            << kept;
    }
}

TEST_F(JobObjectsTest, pods_of_a_workload_that_exists_are_no_orphans) {
    add_pod("sft-1");
    store.stored["/apis/apps/v1/namespaces/t/deployments/sft"] = {{"metadata", {{"uid", "x"}}}};
    const auto removed = remove_orphans();
    ASSERT_TRUE(removed.has_value());
    EXPECT_FALSE(removed->any());
    EXPECT_TRUE(store.stored.contains("/api/v1/namespaces/t/pods/sft-1"));
}

TEST_F(JobObjectsTest, an_unreadable_server_is_not_taken_for_one_without_a_workload) {
    add_pod("sft-1");
    store.refuse["GET " + workload] = 503;
    EXPECT_FALSE(remove_orphans().has_value());
    EXPECT_TRUE(store.stored.contains("/api/v1/namespaces/t/pods/sft-1"));
}

struct JobObjectsBench : JobObjectsTest {
    void TestBody() override {}
};

TEST(Acceptance, C5_a_missing_namespace_is_to_be_created_first_and_nothing_is_made) {
    JobObjectsBench bench;
    bench.store.refuse["PATCH " + bench.workload + " dry"] = 404;
    const auto made = bench.create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(made.retryable);
    EXPECT_EQ(made.code, ErrorCode::NamespaceNotFound);
    EXPECT_NE(made.message.find("create the namespace first"), std::string::npos) << made.message;
    EXPECT_FALSE(bench.store.stored.contains(bench.claim));
    EXPECT_FALSE(bench.store.stored.contains(bench.workload));
}

TEST(Acceptance, C10_a_name_that_another_kind_has_is_refused) {
    JobObjectsBench bench;
    bench.store.stored["/apis/apps/v1/namespaces/t/deployments/sft"] = {
        {"metadata", {{"uid", "x"}}}};
    const auto made = bench.create();
    EXPECT_FALSE(made.done);
    EXPECT_NE(made.message.find("Deployment t/sft exists already"), std::string::npos)
        << made.message;
    EXPECT_FALSE(bench.store.stored.contains(bench.claim));
}

TEST(Acceptance, C13_a_failed_check_for_duplicates_is_not_taken_for_none) {
    JobObjectsBench bench;
    bench.store.refuse["GET /apis/apps/v1/namespaces/t/deployments/sft"] = 503;
    const auto made = bench.create();
    EXPECT_FALSE(made.done);
    EXPECT_FALSE(bench.store.stored.contains(bench.workload));
}

TEST(Acceptance, C15_priority_classes_are_made_once_and_left_unchanged) {
    JobObjectsBench bench;
    const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    bench.store.stored[classes + "/gpuctl-medium"] = {{"value", 500'000}, {"mine", true}};
    EXPECT_TRUE(bench.create().done);
    EXPECT_EQ(bench.store.position("POST " + classes), -1);
    EXPECT_EQ(bench.store.stored[classes + "/gpuctl-medium"]["mine"], true);
}

TEST(Acceptance, H1_delete_removes_the_workload_and_its_service) {
    JobObjectsBench bench;
    bench.job.spec.kind = JobKind::notebook;
    EXPECT_TRUE(bench.create().done);
    const std::string set = "/apis/apps/v1/namespaces/t/statefulsets/sft";
    const std::string service = "/api/v1/namespaces/t/services/svc-sft";
    EXPECT_TRUE(bench.store.stored.contains(set));
    EXPECT_TRUE(bench.store.stored.contains(service));
    EXPECT_TRUE(bench.remove().done);
    EXPECT_FALSE(bench.store.stored.contains(set));
    EXPECT_FALSE(bench.store.stored.contains(service));
    EXPECT_TRUE(bench.store.stored.contains(bench.claim)) << "its data stays";
}

TEST(Acceptance, H7_two_orphans_and_their_service_are_deleted_and_counted) {
    JobObjectsBench bench;
    bench.add_pod("sft-1");
    bench.add_pod("sft-2");
    bench.store.stored["/api/v1/namespaces/t/services/svc-sft"] = {
        {"metadata", {{"uid", "s"}, {"labels", {{"runwhere.ai/job-type", "inference"}}}}}};
    const auto removed = bench.remove_orphans();
    ASSERT_TRUE(removed.has_value());
    EXPECT_EQ(removed->pods, 2);
    EXPECT_TRUE(removed->service);
    for (const auto& [path, object] : bench.store.stored) {
        EXPECT_EQ(path.find("/namespaces/t/"), std::string::npos) << path;
    }
}

}  // namespace
}  // namespace gpuctl::k8s
