// Labels of earlier products on workloads and pods, under the present prefix.

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "k8s/cluster/label_migration.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

std::string labelled(const std::string& labels) {
    return R"({"metadata":{"name":"x","namespace":"t","uid":"u1","resourceVersion":"7","labels":)" +
           labels + "}}";
}

std::vector<std::string> actions_of(const LabelledObject& object) {
    std::vector<std::string> lines;
    for (const ports::MigratedLabel& label : object.labels) {
        lines.push_back(label.from + " -> " + label.to + " " + label.action);
    }
    return lines;
}

TEST(LabelMigration, old_labels_are_added_under_the_present_prefix_and_nothing_is_overwritten) {
    const auto planned = plan_migration(
        labelled(
            R"({"g8s.host/job-type":"training","gpuctl/pool":"p","runwhere.ai/pool":"q","app":"x"})"),
        "Job", LabelKeys{}, false);
    EXPECT_EQ(actions_of(planned),
              (std::vector<std::string>{"g8s.host/job-type -> runwhere.ai/job-type add",
                                        "gpuctl/pool -> runwhere.ai/pool differs"}));
    const auto patch = nlohmann::json::parse(migration_patch(planned));
    EXPECT_EQ(patch["metadata"]["labels"], (nlohmann::json{{"runwhere.ai/job-type", "training"}}));
}

TEST(LabelMigration, a_patch_names_the_object_and_the_version_that_was_read) {
    const auto planned =
        plan_migration(labelled(R"({"gpuctl/pool":"p"})"), "Pod", LabelKeys{}, false);
    const auto patch = nlohmann::json::parse(migration_patch(planned));
    EXPECT_EQ(patch["metadata"]["uid"], "u1");
    EXPECT_EQ(patch["metadata"]["resourceVersion"], "7");
}

TEST(LabelMigration, an_old_label_is_removed_only_where_the_present_one_has_its_value) {
    const auto planned = plan_migration(
        labelled(R"({"gpuctl/pool":"p","g8s.host/queue":"a","runwhere.ai/queue":"b"})"), "Job",
        LabelKeys{}, true);
    const auto patch = nlohmann::json::parse(migration_patch(planned));
    EXPECT_EQ(patch["metadata"]["labels"],
              (nlohmann::json{{"runwhere.ai/pool", "p"}, {"gpuctl/pool", nullptr}}));
}

TEST(LabelMigration, an_object_that_is_done_is_not_written) {
    const auto planned = plan_migration(labelled(R"({"gpuctl/pool":"p","runwhere.ai/pool":"p"})"),
                                        "Job", LabelKeys{}, false);
    EXPECT_EQ(migration_patch(planned), "");
    EXPECT_EQ(actions_of(planned),
              std::vector<std::string>{"gpuctl/pool -> runwhere.ai/pool present"});
}

class MigrationRun : public LoopTest {
public:
    using LoopTest::run;
    MigrationRun() : client(client_of(server)) { client->set_fence(&fence); }
    Result<ports::MigratedLabels> migrate(bool dry_run) {
        return run(migrate_labels(*client, LabelKeys{}, {dry_run, false, Epoch{1}},
                                  aio::Deadline::in(std::chrono::seconds{10})));
    }
    struct Fence : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };
    Fence fence;
    std::mutex mutex;
    std::vector<std::string> writes;
    int answer = 200;
    test_support::ScriptedServer server{[this](const test_support::SeenRequest& request,
                                               test_support::ScriptedServer::Reply& reply) {
        const std::lock_guard lock{mutex};
        if (request.method == "PATCH") {
            writes.push_back(request.path());
            return reply.respond(answer, answer == 200
                                             ? "{}"
                                             : R"({"kind":"Status","status":"Failure",)"
                                               R"("reason":"Conflict","message":"changed"})");
        }
        const bool is_pods = request.path() == "/api/v1/pods";
        reply.respond(200, is_pods ? R"({"items":[)" + labelled(R"({"gpuctl/pool":"p"})") + "]}"
                                   : R"({"items":[]})");
    }};
    std::unique_ptr<Client> client;
};

TEST_F(MigrationRun, a_dry_run_writes_nothing) {
    const auto done = migrate(true);
    ASSERT_TRUE(done.has_value());
    EXPECT_TRUE(writes.empty());
    ASSERT_FALSE(done->list.empty());
    EXPECT_EQ(done->list[0].action, "add");
}

TEST_F(MigrationRun, a_pod_is_labelled_through_its_status) {
    const auto done = migrate(false);
    ASSERT_TRUE(done.has_value());
    ASSERT_FALSE(writes.empty());
    EXPECT_EQ(writes[0], "/api/v1/namespaces/t/pods/x/status");
    EXPECT_EQ(done->list[0].action, "added");
}

TEST_F(MigrationRun, an_object_that_has_changed_since_is_reported_and_left) {
    answer = 409;
    const auto done = migrate(false);
    ASSERT_TRUE(done.has_value());
    ASSERT_FALSE(done->list.empty());
    EXPECT_EQ(done->list[0].action, "failed");
    EXPECT_NE(done->list[0].message.find("changed"), std::string::npos) << done->list[0].message;
}

}  // namespace
}  // namespace gpuctl::k8s
