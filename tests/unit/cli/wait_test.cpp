// wait, cancel, and delete --wait.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using Answers = std::vector<CannedServer::Answer>;

std::string job_in(const std::string& status, const std::string& ready = "0/1") {
    return R"({"namespace":"t","jobId":"llm","name":"llm","status":")" + status + R"(","ready":")" +
           ready + R"(","waiting":{"sentence":"8 GPUs requested, 0 free"}})";
}
const std::string kGone = R"({"error":"JobNotFound","message":"there is no job named llm"})";
const std::string kDeleted =
    R"({"jobId":"llm","namespace":"t","status":"terminating","message":"job t/llm is being deleted"})";

TEST(Wait, ends_when_the_condition_holds) {
    CannedServer runs{200, kJson, job_in("Running", "1/1")};
    const auto running = runs.run({"wait", "t/llm", "--for=running"});
    EXPECT_EQ(running.exit_code, 0) << running.err;
    EXPECT_EQ(running.out, "job t/llm is running\n");
    EXPECT_EQ(running.request_line, "GET /api/v1/jobs/llm?namespace=t HTTP/1.1");
    CannedServer ready{200, kJson, job_in("Running", "4/4")};
    EXPECT_EQ(ready.run({"wait", "llm", "--for", "ready"}).exit_code, 0);
    CannedServer ended{200, kJson, job_in("Succeeded")};
    EXPECT_EQ(ended.run({"wait", "llm", "--for=running"}).exit_code, 0) << "it has run";
    CannedServer gone{404, "application/problem+json", kGone};
    EXPECT_EQ(gone.run({"wait", "llm", "--for=deleted"}).exit_code, 0);
}

TEST(Wait, says_where_the_job_is_when_the_time_is_over) {
    CannedServer server{200, kJson, job_in("Pending")};
    const auto outcome = server.run({"wait", "t/llm", "--for=running", "--timeout", "1ms"});
    EXPECT_EQ(outcome.exit_code, 6);
    EXPECT_NE(outcome.err.find("wait for job t/llm to be running: after 0s it is Pending: 8 GPUs "
                               "requested, 0 free"),
              std::string::npos)
        << outcome.err;
}

TEST(Wait, ends_at_once_when_the_condition_cannot_hold_any_more) {
    CannedServer failed{200, kJson, job_in("Failed")};
    const auto outcome = failed.run({"wait", "llm", "--for=succeeded"});
    EXPECT_EQ(outcome.exit_code, 6);
    EXPECT_NE(outcome.err.find("so it will not happen"), std::string::npos) << outcome.err;
    CannedServer gone{404, "application/problem+json", kGone};
    EXPECT_EQ(gone.run({"wait", "llm", "--for=running"}).exit_code, 3);
    CannedServer server{200, kJson, job_in("Running")};
    const auto refused = server.run({"wait", "llm", "--for=running", "--timeout", "soon"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("`soon` is not a duration"), std::string::npos) << refused.err;
}

TEST(Cancel, stops_a_job_and_says_where_its_events_are) {
    CannedServer server{Answers{{200, job_in("Running")}, {200, kDeleted}}};
    const auto outcome = server.run({"cancel", "llm"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "job t/llm is being stopped; `gpuctl get events --job t/llm` keeps showing what "
              "happened\n");
    EXPECT_EQ(outcome.request_lines.at(1), "DELETE /api/v1/jobs/llm HTTP/1.1");
}

TEST(Cancel, does_not_change_a_job_that_has_ended) {
    CannedServer server{200, kJson, job_in("Succeeded")};
    const auto outcome = server.run({"cancel", "llm"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.request_lines.size(), 1U) << "nothing is deleted";
    EXPECT_NE(outcome.out.find("has ended already (Succeeded)"), std::string::npos);
}

TEST(Acceptance, H9_delete_waits_and_says_that_a_job_is_still_terminating) {
    CannedServer gone{Answers{{200, kDeleted}, {404, kGone}}};
    const auto quick = gone.run({"delete", "job", "t/llm", "--wait"});
    EXPECT_EQ(quick.exit_code, 0) << quick.err;
    EXPECT_EQ(quick.out, "job t/llm is being deleted\njob t/llm is gone\n");
    EXPECT_EQ(quick.request_lines.size(), 2U) << "one check";
    CannedServer stuck{Answers{{200, kDeleted}, {200, job_in("Terminating")}}};
    const auto slow = stuck.run({"delete", "job", "t/llm", "--wait", "--timeout", "1ms"});
    EXPECT_EQ(slow.exit_code, 6) << "nothing of it is a success";
    EXPECT_NE(slow.err.find("delete job t/llm: it is still terminating after"), std::string::npos)
        << slow.err;
}

std::string file_of(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + name;
    std::ofstream{path} << text;
    return path;
}

TEST(Acceptance, H5_and_H10_delete_takes_every_file_and_the_namespace_of_its_document) {
    const std::string a =
        file_of("delete_a.yaml", "kind: training\njob: {name: a, namespace: team-a}\n");
    const std::string b = file_of("delete_b.yaml", "kind: training\njob: {name: b}\n");
    CannedServer server{200, kJson, kDeleted};
    const auto outcome = server.run({"delete", "-f", a, b, "-n", "team-b"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_lines,
              (std::vector<std::string>{"DELETE /api/v1/jobs/a?namespace=team-a HTTP/1.1",
                                        "DELETE /api/v1/jobs/b?namespace=team-b HTTP/1.1"}));
}

TEST(Acceptance, H6_the_same_name_in_two_namespaces_needs_n) {
    const std::string two =
        R"({"error":"JobAmbiguous","message":"there are several jobs named llm: a/llm, b/llm; )"
        R"(give the namespace"})";
    CannedServer server{409, "application/problem+json", two};
    const auto outcome = server.run({"delete", "job", "llm"});
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_NE(outcome.err.find("namespace"), std::string::npos);
    CannedServer again{409, "application/problem+json", two};
    const auto json = again.run({"delete", "job", "llm", "--json"});
    EXPECT_TRUE(nlohmann::json::parse(json.out).contains("error")) << json.out;
    CannedServer one{200, kJson, kDeleted};
    EXPECT_EQ(one.run({"delete", "job", "llm", "-n", "ml-team"}).request_line,
              "DELETE /api/v1/jobs/llm?namespace=ml-team HTTP/1.1");
}

TEST(Acceptance, H3_and_I7_and_F7_an_unknown_job_is_not_found) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"delete", "job", "llm"},
                                                  {"logs", "llm"},
                                                  {"describe", "job", "llm"},
                                                  {"cancel", "llm"}}) {
        CannedServer server{404, "application/problem+json", kGone};
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 3) << words[0];
        EXPECT_NE(outcome.err.find("there is no job named llm"), std::string::npos);
    }
}

}  // namespace
}  // namespace gpuctl::cli
