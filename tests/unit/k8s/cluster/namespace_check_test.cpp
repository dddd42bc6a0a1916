// Jobs are created only in namespaces that exist, are managed, and are not being deleted.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "k8s/cluster/namespace_check.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

class NamespaceCheckTest : public LoopTest {
public:
    using LoopTest::run;
    NamespaceCheckTest() : client(client_of(server)) {}
    void TestBody() override {}
    Result<void> check(bool is_known = false) {
        return run(check_namespace(*client, LabelKeys{}, {"t", is_known, false},
                                   aio::Deadline::in(std::chrono::seconds{10})));
    }
    // Answers by path; another path is 404.
    std::map<std::string, std::pair<int, std::string>> answers;
    std::mutex mutex;
    test_support::ScriptedServer server{[this](const test_support::SeenRequest& request,
                                               test_support::ScriptedServer::Reply& reply) {
        const std::lock_guard lock{mutex};
        const auto found = answers.find(request.path());
        if (found != answers.end()) return reply.respond(found->second.first, found->second.second);
        if (request.path().ends_with("/t"))
            return reply.respond(404, R"({"kind":"Status","status":"Failure","code":404})");
        reply.respond(200, R"({"items":[]})");
    }};
    std::unique_ptr<Client> client;
    const std::string path = "/api/v1/namespaces/t";
};

std::string namespace_json(const std::string& labels, const std::string& phase = "Active") {
    return R"({"metadata":{"name":"t","labels":{)" + labels + R"(}},"status":{"phase":")" + phase +
           "\"}}";
}

TEST(Acceptance, C5_a_namespace_that_does_not_exist_is_to_be_created_first) {
    NamespaceCheckTest bench;
    for (const bool is_known : {false, true}) {
        const auto answer = bench.check(is_known);
        ASSERT_FALSE(answer.has_value());
        EXPECT_EQ(answer.error().code, ErrorCode::NamespaceNotFound);
        EXPECT_NE(answer.error().message.find("kubectl create namespace t"), std::string::npos)
            << answer.error().message;
    }
}

TEST(Acceptance, C6_a_namespace_that_is_not_managed_is_refused_with_what_to_do) {
    NamespaceCheckTest bench;
    bench.answers[bench.path] = {200, namespace_json(R"("team":"x")")};
    const auto answer = bench.check();
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::NamespaceNotManaged);
    EXPECT_NE(answer.error().message.find("kubectl label namespace t runwhere.ai/namespace=true"),
              std::string::npos)
        << answer.error().message;
    EXPECT_TRUE(bench.check(true).has_value()) << "default, and what the policy names";
}

TEST_F(NamespaceCheckTest, the_label_or_workloads_with_our_labels_make_a_namespace_managed) {
    for (const char* const label :
         {R"("runwhere.ai/namespace":"true")", R"("g8s.host/namespace":"true")"}) {
        answers[path] = {200, namespace_json(label)};
        EXPECT_TRUE(check().has_value()) << label;
    }
    answers[path] = {200, namespace_json(R"("runwhere.ai/namespace":"false")")};
    EXPECT_FALSE(check().has_value());
    answers["/apis/apps/v1/namespaces/t/deployments"] = {200, R"({"items":[{"metadata":{}}]})"};
    EXPECT_TRUE(check().has_value());
}

TEST_F(NamespaceCheckTest, a_namespace_that_is_being_deleted_takes_no_jobs) {
    answers[path] = {200, namespace_json(R"("runwhere.ai/namespace":"true")", "Terminating")};
    const auto answer = check(true);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::Conflict);
    EXPECT_NE(answer.error().message.find("is being deleted"), std::string::npos);
}

TEST_F(NamespaceCheckTest, a_failed_read_is_no_permission) {
    answers[path] = {403, R"({"kind":"Status","status":"Failure","code":403,"message":"no"})"};
    const auto answer = check(true);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::Forbidden);
}

}  // namespace
}  // namespace gpuctl::k8s
