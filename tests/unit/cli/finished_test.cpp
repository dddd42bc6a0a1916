// What `get jobs` and `describe job` say of finished jobs that are not kept in full, or at all.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "canned_server.hpp"

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
                               {"keptFor", "1d"}};
    return body;
}

TEST(Finished, a_list_that_leaves_something_out_says_so_beside_the_table) {
    CannedServer server{200, kJson, page(7, {true, true, false}).dump()};
    const auto outcome = server.run({"get", "jobs"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(outcome.err.starts_with(
        "2 finished jobs are listed without pods: only a summary is kept; 7 finished jobs were "
        "removed, the last "))
        << outcome.err;
    EXPECT_TRUE(
        outcome.err.ends_with(" ago: at most 10000 are kept, for 1d "
                              "(policy.finishedJobsMaximum, finishedJobsKeptFor)\n"))
        << outcome.err;
    EXPECT_EQ(outcome.out.find("removed"), std::string::npos);
}

TEST(Finished, a_list_of_everything_says_nothing_beside_it) {
    CannedServer server{200, kJson, page(0, {false}).dump()};
    EXPECT_EQ(server.run({"get", "jobs"}).err, "");
    CannedServer for_programs{200, kJson, page(7, {true}).dump()};
    const auto outcome = for_programs.run({"get", "jobs", "-o", "json"});
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(nlohmann::json::parse(outcome.out).is_array());
}

TEST(Finished, a_summary_is_described_with_why_it_failed_and_what_is_not_kept) {
    const nlohmann::json job{{"name", "llm"},
                             {"status", "Failed"},
                             {"message", "pod llm-0 ended with OOMKilled on node a"},
                             {"notKept", "its pods, YAML, events and logs are no longer kept"}};
    CannedServer server{200, kJson, job.dump()};
    const auto outcome = server.run({"describe", "job", "llm"});
    EXPECT_NE(outcome.out.find("Why:            pod llm-0 ended with OOMKilled on node a\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("Not kept:       its pods, YAML, events and logs"),
              std::string::npos)
        << outcome.out;
}

}  // namespace
}  // namespace gpuctl::cli
