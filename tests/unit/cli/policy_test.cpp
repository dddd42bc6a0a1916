// Commands about pools, quotas, queues and namespaces against a server with one answer.

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using nlohmann::json;

// What a user types, for one command.
class Typed {
public:
    explicit Typed(const std::string& text) : text_(text), before_(std::cin.rdbuf(text_.rdbuf())) {}
    ~Typed() {
        std::cin.rdbuf(before_);
        std::cin.clear();
    }
    Typed(const Typed&) = delete;
    Typed& operator=(const Typed&) = delete;

private:
    std::istringstream text_;
    std::streambuf* before_;
};

std::string file_with(const std::string& text) {
    const std::string file = testing::TempDir() + "policy_test.yaml";
    std::ofstream{file} << text;
    return file;
}

constexpr const char* kQuotas =
    R"({"total":1,"items":[{"name":"q1","namespace":"team-x","description":"","source":"api",)"
    R"("hard":{"cpu":"16","memory":"unlimited","gpu":"8","pods":"unlimited"},)"
    R"("used":{"cpu":"1","memory":"1Gi","gpu":"2"},"status":"Active","note":""}]})";

TEST(Acceptance, E17_quotas_are_listed_with_what_is_used_of_them) {
    CannedServer server{200, kJson, kQuotas};
    const auto outcome = server.run({"get", "quotas"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "GET /api/v1/quotas?page=1&pageSize=100 HTTP/1.1");
    EXPECT_EQ(outcome.out,
              "QUOTA NAME  NAMESPACE  CPU   MEMORY         GPU  STATUS\n"
              "q1          team-x     1/16  1Gi/unlimited  2/8  Active\n");
    CannedServer again{200, kJson, kQuotas};
    const json rows = json::parse(again.run({"get", "quotas", "--json"}).out);
    EXPECT_EQ(rows[0]["hard"], json({{"cpu", "16"},
                                     {"memory", "unlimited"},
                                     {"nvidia.com/gpu", "8"},
                                     {"pods", "unlimited"}}));
    EXPECT_EQ(rows[0]["used"], json({{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "2"}}));
    CannedServer none{404, "application/problem+json",
                      R"({"error":"QuotaNotFound","message":"there is no quota of namespace x"})"};
    const auto missing = none.run({"get", "quotas", "x"});
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_EQ(missing.request_line, "GET /api/v1/quotas/x HTTP/1.1");
}

TEST(Acceptance, E18_get_ns_is_get_namespaces) {
    const std::string body =
        R"({"total":2,"items":[{"name":"default","status":"Active","age":"N/A","source":"file"},)"
        R"({"name":"team-a","status":"Active","createdAt":"not a time","age":"5d"}]})";
    std::string first;
    for (const char* spelling : {"ns", "namespaces", "namespace"}) {
        CannedServer server{200, kJson, body};
        const auto outcome = server.run({"get", spelling});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        if (first.empty()) first = outcome.out;
        EXPECT_EQ(outcome.out, first) << spelling;
    }
    EXPECT_EQ(first, "NAME     STATUS  AGE\ndefault  Active  N/A\nteam-a   Active  5d\n");
}

TEST(Acceptance, F13_a_namespace_is_described_with_and_without_a_quota) {
    CannedServer bare{
        200, kJson, R"({"name":"default","status":"Active","age":"N/A","labels":{},"quota":null})"};
    const auto none = bare.run({"describe", "ns", "default"});
    EXPECT_EQ(none.exit_code, 0) << none.err;
    EXPECT_NE(none.out.find("Quota:          none"), std::string::npos) << none.out;
    CannedServer partial{200, kJson,
                         R"({"name":"t","status":"Active","age":"1d",)"
                         R"("labels":{"runwhere.ai/namespace":"true"},)"
                         R"("quota":{"name":"q","hard":{"memory":"8Gi"},"used":{}}})"};
    const auto some = partial.run({"describe", "namespace", "t"});
    EXPECT_EQ(some.exit_code, 0) << some.err;
    EXPECT_NE(some.out.find("Labels:         runwhere.ai/namespace=true"), std::string::npos);
    EXPECT_NE(some.out.find("GPU:            0/unlimited"), std::string::npos) << some.out;
}

TEST(Acceptance, H13_a_quota_is_deleted_only_after_a_yes) {
    const std::string body =
        R"({"message":"the quota of namespace t deleted","deleted":[{"namespace":"t"}]})";
    for (const char* answer : {"n\n", "\n", "yes\n", ""}) {
        CannedServer server{200, kJson, body};
        const Typed typed{answer};
        const auto outcome = server.run({"delete", "quota", "t"});
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_EQ(outcome.request_line, "") << answer;
        EXPECT_EQ(outcome.out, "cancelled; nothing was deleted\n");
    }
    for (const char* answer : {"y\n", "Y\n"}) {
        CannedServer server{200, kJson, body};
        const Typed typed{answer};
        const auto outcome = server.run({"delete", "quota", "t"});
        EXPECT_EQ(outcome.request_line, "DELETE /api/v1/quotas/t HTTP/1.1") << answer;
        EXPECT_NE(outcome.err.find("Delete the quota t? Namespaces and jobs stay."),
                  std::string::npos);
    }
    CannedServer forced{200, kJson, body};
    EXPECT_EQ(forced.run({"delete", "quota", "t", "--force"}).request_line,
              "DELETE /api/v1/quotas/t?force=true HTTP/1.1");
    CannedServer document{200, kJson, body};
    const json deleted = json::parse(document.run({"delete", "quota", "t", "--json"}).out);
    EXPECT_EQ(deleted["deleted"][0]["namespace"], "t");
}

TEST(PolicyCommands, pools_and_queues_are_deleted_without_a_question) {
    CannedServer pool{200, kJson, R"({"message":"pool infer deleted"})"};
    const auto outcome = pool.run({"delete", "pool", "infer"});
    EXPECT_EQ(outcome.request_line, "DELETE /api/v1/pools/infer HTTP/1.1");
    EXPECT_EQ(outcome.out, "pool infer deleted\n");
    CannedServer queue{200, kJson, R"({"message":"queue llm of pool p deleted"})"};
    EXPECT_EQ(queue.run({"delete", "queue", "p/llm", "--force"}).request_line,
              "DELETE /api/v1/queues/llm?pool=p&force=true HTTP/1.1");
    CannedServer shape{200, kJson, R"({"message":"pool infer deleted"})"};
    EXPECT_EQ(json::parse(shape.run({"delete", "pool", "infer", "--json"}).out),
              json({{"success", true}, {"message", "pool infer deleted"}}));
}

TEST(PolicyCommands, a_file_is_sent_whole_with_its_line_numbers_before_its_jobs) {
    CannedServer server{
        200, kJson,
        R"({"results":[{"kind":"pool","name":"p","status":"created","action":"create",)"
        R"("message":"pool p created"}],"jobId":"a","kind":"training","namespace":"default",)"
        R"("message":"stored"})"};
    const auto outcome = server.run(
        {"create", "-f",
         file_with(
             "kind: training\njob: {name: a}\n---\n# a pool\nkind: pool\npool: {name: p}\n")});
    ASSERT_EQ(outcome.request_lines.size(), 2u);
    EXPECT_EQ(outcome.request_lines[0], "POST /api/v1/policy?mode=create HTTP/1.1");
    EXPECT_EQ(outcome.request_lines[1], "POST /api/v1/jobs HTTP/1.1");
    EXPECT_EQ(outcome.out, "pool p created\ntraining default/a created (stored)\n");
}

TEST(PolicyCommands, jobs_of_a_file_are_not_sent_if_its_pools_are_refused) {
    const std::string file = file_with("kind: pool\npool: {name: p}\n---\nkind: training\n");
    for (const std::string verb : {"create", "apply"}) {
        CannedServer server{
            409, "application/problem+json",
            R"({"error":"ManagedByFile","message":"create pool p: it is in a file"})"};
        const auto outcome = server.run({verb, "-f", file});
        EXPECT_EQ(outcome.exit_code, 4) << verb;
        EXPECT_EQ(outcome.request_lines.size(), 1u) << verb;
        EXPECT_NE(outcome.err.find(file + ": create pool p: it is in a file"), std::string::npos)
            << verb << outcome.err;
    }
}

TEST(PolicyCommands, a_file_with_one_node_in_two_pools_is_not_sent) {
    const std::string file = file_with(
        "kind: pool\npool: {name: p}\nnodes: {n1: {}}\n---\n"
        "kind: pool\npool: {name: q}\nnodes: {n1: {}}\n");
    for (const std::string verb : {"create", "apply"}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run({verb, "-f", file});
        EXPECT_EQ(outcome.exit_code, 1) << verb;
        EXPECT_TRUE(outcome.request_lines.empty()) << verb;
        EXPECT_NE(outcome.err.find("n1 is in pool q here and in pool p"), std::string::npos)
            << verb << outcome.err;
    }
}

TEST(PolicyCommands, query_pools_is_get_pools) {
    CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
    const auto outcome = server.run({"query", "pools"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "GET /api/v1/pools?page=1&pageSize=100 HTTP/1.1");
}

TEST(PolicyCommands, delete_of_a_file_asks_for_quotas_and_deletes_jobs_first) {
    const std::string file = file_with(
        "kind: quota\nquota: {name: q}\nnamespace: {t: {}}\n---\nkind: training\njob: {name: a}\n");
    CannedServer no{200, kJson, R"({"message":"job default/a is being deleted"})"};
    {
        const Typed typed{"n\n"};
        const auto outcome = no.run({"delete", "-f", file});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.request_lines.size(), 1u) << "only the job";
    }
    CannedServer yes{200, kJson,
                     R"({"message":"gone","results":[{"kind":"quota","message":"quota gone"}]})"};
    const auto outcome = yes.run({"delete", "-f", file, "--force"});
    ASSERT_EQ(outcome.request_lines.size(), 2u);
    EXPECT_EQ(outcome.request_lines[0].substr(0, 25), "DELETE /api/v1/jobs/a?nam");
    EXPECT_EQ(outcome.request_lines[1], "POST /api/v1/policy?mode=delete&force=true HTTP/1.1");
}

}  // namespace
}  // namespace gpuctl::cli
