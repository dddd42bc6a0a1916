// Objects of the policy are written with preconditions, several all or none, and read back after
// an answer that never came.

#include <atomic>
#include <nlohmann/json.hpp>
#include <vector>

#include "k8s/policy/policy_writer.hpp"
#include "unit/k8s/client/loop_fixture.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;
using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

std::string answered(const std::string& version) {
    return R"({"kind":"ComputePool","metadata":{"name":"p","uid":"u-p","resourceVersion":")" +
           version + R"("}})";
}
std::string status_of(int code, const std::string& reason) {
    return R"({"kind":"Status","status":"Failure","reason":")" + reason + R"(","code":)" +
           std::to_string(code) + "}";
}

class PolicyWriterTest : public LoopTest {
protected:
    struct Always : WriteFence {
        [[nodiscard]] bool may_write(Epoch) const override { return true; }
    };
    PolicyWriterTest() { outbox.attach(sink); }

    void show(const std::string& name, const std::string& version, const json& spec) {
        const json object{{"metadata", {{"name", name}}}, {"spec", spec}};
        EXPECT_TRUE(
            feed.on_object(Change::modified, {"", name, "u-" + name, version}, object.dump()));
    }
    // Once the server was asked.
    aio::Task<void> show_after(std::atomic<int>& asked, std::string name, std::string version,
                               json spec) {
        std::function<bool()> is_asked = [&asked] { return asked > 0; };
        const aio::Deadline deadline = soon();
        const bool was_asked = co_await poll_until(std::move(is_asked), deadline);
        EXPECT_TRUE(was_asked);
        show(name, version, spec);
    }
    static PolicyObject put(const std::string& name, const std::string& rest,
                            const std::string& nodes = R"("nodes":{},)") {
        PolicyObject object;
        object.key = {PolicyKind::pool, name};
        object.document = R"({"kind":"pool","name":")" + name + R"(",)" + nodes + rest + "}";
        return object;
    }
    Result<std::vector<ports::PolicyObjectWritten>> write(ScriptedServer::Script script,
                                                          PolicyObjectsChanged wanted) {
        ScriptedServer server{std::move(script)};
        auto client = client_of(server);
        client->set_fence(&fence);
        PolicyWriter writer{
            *client, LabelKeys{},
            [this](PolicyKind kind) { return kind == PolicyKind::pool ? &feed : nullptr; },
            [] { return Epoch{1}; }};
        auto written = run(writer.write(std::move(wanted), soon()));
        seen = server.received();
        return written;
    }

    Always fence;
    Sink sink;
    Outbox outbox{loop};
    PolicyFeed feed{outbox, PolicyKind::pool, LabelKeys{}, [] {}};
    std::vector<SeenRequest> seen;
};

TEST_F(PolicyWriterTest, a_change_patches_the_version_that_the_watch_showed) {
    show("p", "5", {{"nodes", {{{"name", "n1"}}}}, {"poolType", "gpu"}});
    PolicyObjectsChanged wanted;
    wanted.put.push_back(put("p", R"("nodes":{"n1":{},"n2":{}},"quota":{"maxJobs":2})", ""));
    const auto written =
        write([](const SeenRequest&, Reply& reply) { reply.respond(200, answered("6")); }, wanted);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ((*written)[0].version, 6u);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method + " " + seen[0].path(), "PATCH /apis/runwhere.ai/v1/computepools/p");
    const json body = json::parse(seen[0].body);
    EXPECT_EQ(body["metadata"], (json{{"uid", "u-p"}, {"resourceVersion", "5"}}));
    EXPECT_EQ(body["spec"],
              (json{{"nodes", {{{"name", "n1"}}, {{"name", "n2"}}}}, {"limits", {{"maxJobs", 2}}}}))
        << "poolType is of another client";
}

TEST_F(PolicyWriterTest, a_change_of_another_client_is_not_written_over) {
    show("p", "5", {{"description", "a"}});
    std::atomic<int> asked = 0;
    PolicyObjectsChanged wanted;
    wanted.put.push_back(put("p", R"("description":"b")"));
    group.spawn("watch", show_after(asked, "p", "6", {{"description", "theirs"}}));
    const auto written = write(
        [&](const SeenRequest&, Reply& reply) {
            ++asked;
            reply.respond(409, status_of(409, "Conflict"));
        },
        wanted);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Conflict);
    EXPECT_EQ(seen.size(), 1u);
}

TEST_F(PolicyWriterTest, several_are_tried_first_and_nothing_is_made_when_one_is_refused) {
    PolicyObjectsChanged wanted;
    wanted.put.push_back(put("p", R"("description":"a")"));
    wanted.put.push_back(put("q", R"("description":"b")"));
    const auto written = write(
        [](const SeenRequest& request, Reply& reply) {
            const bool is_q = request.body.find("\"name\":\"q\"") != std::string::npos;
            if (is_q) return reply.respond(422, status_of(422, "Invalid"));
            reply.respond(201, answered("6"));
        },
        wanted);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::ValidationFailed);
    for (const SeenRequest& request : seen) EXPECT_EQ(request.query("dryRun"), "All");
}

TEST_F(PolicyWriterTest, a_deletion_names_the_uid_and_an_object_that_is_gone_is_done) {
    show("p", "5", {{"description", "a"}});
    PolicyObjectsChanged wanted;
    wanted.gone.push_back({{PolicyKind::pool, "p"}, "u-p"});
    const auto written = write(
        [](const SeenRequest&, Reply& reply) { reply.respond(404, status_of(404, "NotFound")); },
        wanted);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ((*written)[0].uid, "");
    EXPECT_EQ(seen[0].method, "DELETE");
    EXPECT_EQ(json::parse(seen[0].body)["preconditions"]["uid"], "u-p");
}

TEST_F(PolicyWriterTest, without_the_kind_the_answer_says_what_to_apply) {
    PolicyObjectsChanged wanted;
    wanted.put.push_back(put("p", R"("description":"a")"));
    const auto written = write(
        [](const SeenRequest&, Reply& reply) { reply.respond(404, status_of(404, "NotFound")); },
        wanted);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::NotSupportedHere);
    EXPECT_NE(written.error().message.find("kubectl apply -f config/crds.yaml"), std::string::npos);
}

TEST_F(PolicyWriterTest, a_creation_without_an_answer_is_read_back_from_the_watch) {
    PolicyObjectsChanged wanted;
    wanted.put.push_back(put("p", R"("description":"a")"));
    std::atomic<int> asked = 0;
    group.spawn("watch",
                show_after(asked, "p", "6", {{"description", "a"}, {"nodes", json::array()}}));
    const auto written = write(
        [&](const SeenRequest&, Reply& reply) {
            ++asked;
            reply.cut();
        },
        wanted);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ((*written)[0].uid, "u-p");
    EXPECT_EQ((*written)[0].version, 6u);
}

}  // namespace
}  // namespace gpuctl::k8s
