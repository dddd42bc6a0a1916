// What `get jobs` and `describe job` print about finished jobs that are stored in part, or not at
// all.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

nlohmann::json page(int removed, std::vector<bool> summaries) {
    nlohmann::json body{{"total", summaries.size()}, {"items", nlohmann::json::array()}};
    for (const bool is_summary : summaries) {
        body["items"].push_back({{"jobId", "a"},
                                 {"name", "a"},
                                 {"namespace", "default"},
                                 {"status", "Succeeded"},
                                 {"summary", is_summary}});
    }
    body["finishedRemoved"] = {{"count", removed},
                               {"lastAt", "2026-01-01T00:00:00Z"},
                               {"maximum", 10000},
                               {"retention", "1d"}};
    return body;
}

TEST(Finished, an_incomplete_list_says_so_on_stderr) {
    CannedServer server{200, kJson, page(7, {true, true, false}).dump()};
    const auto outcome = server.run({"get", "jobs"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(outcome.err.starts_with(
        "2 finished jobs are listed without pods: only a summary is stored; 7 finished jobs were "
        "removed, the last "))
        << outcome.err;
    EXPECT_TRUE(
        outcome.err.ends_with(" ago: at most 10000 are stored, for 1d "
                              "(policy.finishedJobsMaximum, finishedJobsRetention)\n"))
        << outcome.err;
    EXPECT_EQ(outcome.out.find("removed"), std::string::npos);
}

TEST(Get, an_empty_table_says_so_on_stderr) {
    const std::string empty = R"({"total":0,"items":[]})";
    CannedServer all{200, kJson, empty};
    EXPECT_EQ(all.run({"get", "jobs"}).err, "no jobs exist\n");
    CannedServer selected{200, kJson, empty};
    EXPECT_EQ(selected.run({"get", "jobs", "--queue", "q", "-n", "a"}).err,
              "no jobs match the given flags in namespace a; -A lists those of all namespaces\n");
    CannedServer nodes{200, kJson, empty};
    EXPECT_EQ(nodes.run({"get", "nodes", "--gpu-type", "H100"}).err,
              "no nodes match the given flags\n");
    CannedServer document{200, kJson, empty};
    EXPECT_EQ(document.run({"get", "jobs", "--json"}).err, "");
}

TEST(Finished, a_complete_list_writes_nothing_to_stderr) {
    CannedServer server{200, kJson, page(0, {false}).dump()};
    EXPECT_EQ(server.run({"get", "jobs"}).err, "");
    CannedServer for_programs{200, kJson, page(7, {true}).dump()};
    const auto outcome = for_programs.run({"get", "jobs", "-o", "json"});
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(nlohmann::json::parse(outcome.out)["items"].is_array());
}

TEST(Finished, a_summary_is_described_with_its_failure_and_the_details_that_are_not_kept) {
    const nlohmann::json job{
        {"name", "llm"},
        {"status", "Failed"},
        {"message", "pod llm-0 ended with OOMKilled on node a"},
        {"notStored", "its pods, YAML, events and logs are not stored any more"}};
    CannedServer server{200, kJson, job.dump()};
    const auto outcome = server.run({"describe", "job", "llm"});
    EXPECT_NE(outcome.out.find("Why:            pod llm-0 ended with OOMKilled on node a\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("Not stored:     its pods, YAML, events and logs"),
              std::string::npos)
        << outcome.out;
}

}  // namespace
}  // namespace gpuctl::cli
