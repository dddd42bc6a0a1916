// The command line against a server with one fixed answer.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio_ext.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

const std::string kProblemJson = "application/problem+json";

TEST(Logs, of_all_pods_are_fetched_once_without_follow) {
    CannedServer server{200, "application/json",
                        R"({"logs":["[a-0] loss 1","[a-1] lost","[a-1] loss 2"],"pod":"a-0"})"};
    const auto outcome = server.run({"logs", "a", "--all-pods", "--grep", "^loss", "--tail", "7"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "GET /api/v1/jobs/a/logs?all=true&tail=7 HTTP/1.1");
    EXPECT_EQ(outcome.out, "[a-0] loss 1\n[a-1] loss 2\n");
}

TEST(Logs, only_matching_lines_are_printed_as_json_too) {
    CannedServer server{200, "application/json", R"({"logs":["one","two","three"],"pod":"a-0"})"};
    const auto outcome = server.run({"logs", "a", "--grep", "^t", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["logs"], (nlohmann::json{"two", "three"}));
}

TEST(Logs, more_lines_than_the_server_gives_are_refused_before_asking) {
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"logs", "a", "--tail", "10001"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.request_line, "");
}

TEST(Logs, one_pod_and_all_pods_are_refused_by_the_names_of_the_flags) {
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"logs", "a", "--pod", "a-0", "--all-pods"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.request_line, "");
    EXPECT_EQ(outcome.err, "error (BadRequest): give either --pod or --all-pods, not both\n");
}

TEST(Logs, a_refused_follow_shows_its_code_and_sentence) {
    CannedServer missing{404, kProblemJson,
                         R"({"error":"JobNotFound","message":"there is no job named a"})"};
    const auto outcome = missing.run({"logs", "a", "-f"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.err, "error (JobNotFound): there is no job named a\n");
    CannedServer closed{401, kProblemJson,
                        R"({"error":"Unauthorized","message":"a token, please"})"};
    const auto unauthorized = closed.run({"logs", "a", "-f"});
    EXPECT_EQ(unauthorized.exit_code, 5);
    EXPECT_EQ(unauthorized.err, "error (Unauthorized): a token, please\n");
}

TEST(Explain, of_a_partly_running_job_shows_the_running_part_and_the_reasons_of_the_rest) {
    CannedServer half{
        200, "application/json",
        R"({"namespace":"default","jobId":"ring","status":"Running","pool":"p",)"
        R"("queue":"q","summary":"it runs: 1 of 2 pods","queueOrder":null,"blockers":[)"
        R"({"reason":"bind_backoff","sentence":"binding pod ring-1 was refused",)"
        R"("nodes":[],"nodesTotal":1}]})"};
    const auto printed = half.run({"explain", "job", "ring"});
    EXPECT_EQ(printed.out.substr(0, printed.out.find("  [")),
              "job default/ring is Running in queue q of pool p\n"
              "it runs: 1 of 2 pods\n"
              "Why the rest of the job waits:\n"
              "  1. binding pod ring-1 was refused");
}

TEST(WhatIf, shows_blockers_and_remedies_with_an_exit_code_for_scripts) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "kind: training\n";
    CannedServer waits{
        200, "application/json",
        R"({"kind":"training","namespace":"default","jobId":"llm","pool":"p","starts":false,)"
        R"("position":2,"placements":[],"blockers":[{"reason":"gpu_insufficient",)"
        R"("sentence":"8 GPUs requested","nodes":[],"nodesTotal":1}],)"
        R"("remedies":[{"change":"fewer_gpus","sentence":"it would start now with 4 GPUs"},)"
        R"({"change":"jobs_move","sentence":"it would start now if 1 job moved",)"
        R"("steps":["gpuctl delete job a -n t","wait until default/llm runs",7]}]})"};
    const auto no = waits.run({"what-if", "-f", file});
    EXPECT_EQ(no.exit_code, 9) << no.err;
    EXPECT_EQ(no.request_line, "POST /api/v1/what-if HTTP/1.1");
    EXPECT_EQ(no.out,
              "training default/llm would wait in pool p, number 2 in its queue\n"
              "Why it waits:\n"
              "  1. 8 GPUs requested  [gpu_insufficient]\n"
              "Changes that would help, each by itself:\n"
              "  - it would start now with 4 GPUs\n"
              "  - it would start now if 1 job moved\n"
              "      1. gpuctl delete job a -n t\n"
              "      2. wait until default/llm runs\n");
    CannedServer part{
        200, "application/json",
        R"({"kind":"inference","namespace":"default","jobId":"web","pool":"p","starts":false,)"
        R"("pods":3,"placements":[{"pod":"web-0","node":"a"}],"blockers":[)"
        R"({"reason":"gpu_insufficient","sentence":"1 GPU requested","nodes":[],"nodesTotal":1}]})"};
    EXPECT_EQ(part.run({"what-if", "-f", file}).out,
              "inference default/web would start in part in pool p, 1 of its 3 pods\n"
              "  web-0 on a\n"
              "Why the rest of the job waits:\n"
              "  1. 1 GPU requested  [gpu_insufficient]\n");
    CannedServer starts{
        200, "application/json",
        R"({"kind":"training","namespace":"default","jobId":"llm","pool":"p","starts":true,)"
        R"("placements":[{"pod":"llm-0","node":"a"}],"stops":[)"
        R"({"namespace":"t","jobId":"low","gpu":4,"lostGpuSeconds":90,"continues":false,)"
        R"("pods":["low-0","low-1"]},)"
        R"({"namespace":"t","jobId":"wide","gpu":1,"lostGpuSeconds":0,"continues":true,)"
        R"("pods":["wide-3"]}]})"};
    const auto yes = starts.run({"what-if", "-f", file});
    EXPECT_EQ(yes.exit_code, 0) << yes.err;
    EXPECT_EQ(yes.out,
              "training default/llm would start now in pool p\n  llm-0 on a\n"
              "It would preempt:\n"
              "  t/low, which holds 4 GPUs (low-0, low-1): 1m30s of GPU time computed again\n"
              "  t/wide, which continues without 1 GPU (wide-3): no work is lost\n");
}

TEST(WhatIf, lists_the_changes_that_were_tried_when_none_suffices) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "kind: training\n";
    const std::string waits =
        R"({"kind":"training","namespace":"default","jobId":"llm","pool":"p","starts":false,)"
        R"("position":1,"placements":[],"blockers":[{"reason":"gpu_insufficient",)"
        R"("sentence":"8 GPUs requested","nodes":[],"nodesTotal":1}],)"
        R"("remediesTried":["fewer_gpus","higher_limits","more_nodes","two_changes","new_kind"],)";
    const std::string head =
        "training default/llm would wait in pool p, number 1 in its queue\n"
        "Why it waits:\n"
        "  1. 8 GPUs requested  [gpu_insufficient]\n"
        "No single change that was tried would start it now: fewer GPUs, higher limits, "
        "more nodes, new_kind\n";
    CannedServer none{200, "application/json", waits + R"("remedies":[]})"};
    EXPECT_EQ(none.run({"what-if", "-f", file}).out, head);
    CannedServer early{200, "application/json",
                       waits + R"("remediesIncomplete":true,"remedies":[]})"};
    EXPECT_EQ(early.run({"what-if", "-f", file}).out,
              head +
                  "The search reached its limit of time or trials: there may be other and smaller "
                  "changes\n");
    CannedServer two{200, "application/json",
                     waits + R"("remedies":[{"change":"two_changes","sentence":"it would if"}]})"};
    EXPECT_EQ(two.run({"what-if", "-f", file}).out,
              head + "Two changes together would:\n  - it would if\n");
}

TEST(Preview, shows_removed_queues_and_how_many_jobs_had_not_started_in_fact) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "policy: {}\n";
    CannedServer server{
        200, "application/json",
        R"({"begin":"B","end":"E","hours":1,"jobsGain":0,"jobsLose":2,"all":{"jobs":4,)"
        R"("before":{"waitMeanMs":4000,"jobsNotStarted":1},"after":{"jobsNotStarted":3}},)"
        R"("queuesRemoved":[{"queue":"p/a","reason":"queue_unknown","poolDeclared":false,"jobs":2},)"
        R"({"queue":"q/b","reason":"queue_holds_queues","poolDeclared":true,"jobs":1}],)"
        R"("actualWaitMeanMs":3000,"actualJobsNotStarted":0,"jobsRunTimeAssumed":1})"};
    const std::string printed = server.run({"preview", "--config", file}).out;
    EXPECT_NE(printed.find("2 longer\n"
                           "queue p/a is not in this configuration, pool p is not declared: "
                           "2 jobs of that time named it, and jobs that wait there never start\n"
                           "queue q/b has sub-queues in this configuration: "
                           "1 job of that time named it, and jobs that wait there never start\n"),
              std::string::npos)
        << printed;
    EXPECT_NE(
        printed.find("accuracy: simulated under the old policy, the mean wait is 4s "
                     "with 1 job not started, in reality it was 3s with 0; 1 job never ran in "
                     "reality, so its run time is an estimate\n"),
        std::string::npos)
        << printed;
}

TEST(Preview, says_that_it_simulates_the_defaults_and_how_many_jobs_it_compares) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "";
    CannedServer server{
        200, "application/json",
        R"({"begin":"B","end":"E","hours":1,"jobsGain":0,"jobsLose":1,"isDefaultPolicy":true,)"
        R"("all":{"jobs":1,"before":{},"after":{}}})"};
    const std::string printed = server.run({"preview", "--config", file}).out;
    EXPECT_TRUE(printed.starts_with(
        "the configuration sets no key of policy, expert.scheduling or expert.pools: the defaults "
        "are simulated (policy balanced, no queues or limits of its own)\n"
        "from B to E: 1 job was submitted or waited; under this configuration 0 would have waited "
        "less, 1 longer\n"))
        << printed;
}

TEST(Preview, an_equal_result_is_shown_as_equal) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "policy: {}\n";
    CannedServer server{
        200, "application/json",
        R"({"begin":"B","end":"E","hours":1,"jobsGain":0,"jobsLose":0,"all":{"jobs":4,)"
        R"("before":{"waitMeanMs":2997,"jobsNotStarted":0},)"
        R"("after":{"waitMeanMs":2997,"jobsNotStarted":0}},)"
        R"("actualWaitMeanMs":3006,"actualJobsNotStarted":0,"jobsRunTimeAssumed":0})"};
    const std::string printed = server.run({"preview", "--config", file}).out;
    EXPECT_NE(printed.find("the mean wait is 3s with 0 jobs not started, the same as in reality\n"),
              std::string::npos)
        << printed;
    EXPECT_NE(printed.find("3s -> 3s"), std::string::npos) << printed;
}

TEST(Create, a_refusal_shows_its_errors_and_then_its_warnings) {
    const std::string file = testing::TempDir() + "verbs_test.yaml";
    std::ofstream{file} << "kind: training\n";
    const std::string body =
        R"({"error":"ValidationFailed","message":"job a: line 1, column 2: wrong",)"
        R"("errors":[{"pointer":"/b","line":1,"column":2,"message":"wrong"}],)"
        R"("warnings":[{"pointer":"/c","line":3,"column":4,"message":"not used yet"}]})";
    CannedServer server{400, kProblemJson, body};
    const auto text = server.run({"create", "-f", file});
    EXPECT_EQ(text.exit_code, 1);
    EXPECT_EQ(text.err, "error (ValidationFailed): job a: line 1, column 2: wrong\n  " + file +
                            ":1:2: wrong\nwarning: " + file + ":3:4: not used yet\n");
    CannedServer again{400, kProblemJson, body};
    const auto json = again.run({"create", "-f", file, "--json"});
    const nlohmann::json entry = nlohmann::json::parse(json.out)[0];
    EXPECT_EQ(entry["file"], file);
    EXPECT_EQ(entry["errors"][0]["message"], "wrong");
    EXPECT_EQ(entry["warnings"][0]["line"], 3);
}

TEST(CommandLine, output_that_cannot_be_written_is_an_error) {
    std::cout.flush();
    const int stdout_before = dup(STDOUT_FILENO);
    const int full = open("/dev/full", O_WRONLY);
    dup2(full, STDOUT_FILENO);
    const char* words[] = {"gpuctl", "version", "--client"};
    testing::internal::CaptureStderr();
    const int exit_code = run(3, words);
    const std::string err = testing::internal::GetCapturedStderr();
    __fpurge(stdout);
    std::clearerr(stdout);
    std::cout.clear();
    dup2(stdout_before, STDOUT_FILENO);
    close(stdout_before);
    close(full);
    EXPECT_EQ(exit_code, 1);
    EXPECT_EQ(err, "error: write to standard output: No space left on device\n");
}

TEST(CommandLine, replay_takes_the_flags_of_its_program) {
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"replay", "/nowhere", "--events", "--verify"});
    EXPECT_EQ(outcome.exit_code, 1);  // understood; the program is not installed next to the tests
    EXPECT_NE(outcome.err.find("install it next to gpuctl"), std::string::npos) << outcome.err;
}

TEST(CommandLine, every_command_has_an_example) {
    for (const std::string command :
         {"create", "get", "describe", "explain", "what-if", "preview", "delete", "logs", "version",
          "replay", "cancel", "wait", "top", "doctor", "config"}) {
        EXPECT_NE(help_text({command}).find("\n  gpuctl " + command), std::string::npos) << command;
    }
}

TEST(Create, a_json_file_is_sent_as_json) {
    const std::string file = testing::TempDir() + "verbs_test.json";
    std::ofstream{file} << "{}\n";
    CannedServer server{400, kProblemJson, R"({"error":"InvalidJson","message":"no"})"};
    const auto outcome = server.run({"create", "-f", file});
    EXPECT_NE(outcome.request.find("Content-Type: application/json\r\n"), std::string::npos)
        << outcome.request;
}

TEST(Create, an_unreadable_file_is_an_entry_of_the_one_json_document) {
    CannedServer server{500, kProblemJson, "{}"};
    const auto outcome = server.run({"create", "-f", "/tmp", "--json"});
    EXPECT_EQ(outcome.exit_code, 2);
    const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(document.is_array()) << outcome.out;
    EXPECT_EQ(document[0]["file"], "/tmp");
}

}  // namespace
}  // namespace gpuctl::cli
