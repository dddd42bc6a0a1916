// apply, diff, scale, update, pause and resume: what they send, print and return.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

std::string file_of(const std::string& text) {
    const std::string file = testing::TempDir() + "change_test.yaml";
    std::ofstream{file} << text;
    return file;
}

const std::string kChat = "kind: inference\njob: {name: chat}\n";
const std::string kUpdated =
    R"({"jobId":"chat","namespace":"team-a","kind":"inference","action":"update",)"
    R"("changes":[{"field":"environment.image","from":"a:1","to":"a:2","inPlace":true},)"
    R"({"field":"resources.gpu","from":null,"to":2,"inPlace":false}],"warnings":[]})";

TEST(Apply, says_what_it_did_and_to_which_fields) {
    CannedServer server{200, kJson, kUpdated};
    const auto outcome = server.run({"apply", "-f", file_of(kChat), "-n", "team-a"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "PUT /api/v1/jobs/chat?namespace=team-a HTTP/1.1");
    EXPECT_EQ(outcome.out, "inference team-a/chat updated (environment.image, resources.gpu)\n");
}

TEST(Apply, a_dry_run_says_what_would_happen) {
    const std::pair<std::string, std::string> cases[] = {
        {"create", "would be created"},
        {"update", "would be updated"},
        {"recreate", "would be deleted and created again"},
        {"unchanged", "unchanged"}};
    for (const auto& [action, words] : cases) {
        CannedServer server{
            200, kJson,
            R"({"jobId":"chat","namespace":"n","kind":"inference","action":")" + action + R"("})"};
        const auto outcome = server.run({"apply", "-f", file_of(kChat), "--dry-run"});
        EXPECT_EQ(outcome.request_line, "PUT /api/v1/jobs/chat?dryRun=true HTTP/1.1");
        EXPECT_EQ(outcome.out, "inference n/chat " + words + "\n");
    }
}

TEST(Apply, json_has_the_file_the_kind_and_the_action) {
    CannedServer server{200, kJson, kUpdated};
    const auto outcome = server.run({"apply", "-f", file_of(kChat), "--recreate", "--json"});
    EXPECT_EQ(outcome.request_line, "PUT /api/v1/jobs/chat?recreate=true HTTP/1.1");
    const auto printed = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(printed[0]["action"], "update");
    EXPECT_EQ(printed[0]["kind"], "inference");
    EXPECT_EQ(printed[0]["results"][0]["jobId"], "chat");
}

TEST(Apply, a_refused_change_has_its_code_and_exit_code) {
    CannedServer server{409, "application/problem+json",
                        R"({"error":"ImmutableField","message":"resources.gpu cannot change"})"};
    const auto outcome = server.run({"apply", "-f", file_of(kChat)});
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_NE(outcome.err.find("ImmutableField"), std::string::npos) << outcome.err;
}

TEST(Acceptance, D9_apply_without_a_file_is_a_usage_error) {
    CannedServer server{200, kJson, "{}"};
    const auto no_flag = server.run({"apply"});
    EXPECT_EQ(no_flag.exit_code, 2);
    EXPECT_EQ(no_flag.request_line, "");
    const auto no_file = server.run({"apply", "-f", "/nowhere/job.yaml"});
    EXPECT_NE(no_file.exit_code, 0);
    EXPECT_EQ(no_file.request_line, "");
}

TEST(Diff, shows_each_field_and_ends_with_1_if_something_differs) {
    CannedServer server{200, kJson, kUpdated};
    const auto outcome = server.run({"diff", "-f", file_of(kChat)});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.request_line, "PUT /api/v1/jobs/chat?dryRun=true&recreate=true HTTP/1.1");
    EXPECT_EQ(outcome.out,
              "inference team-a/chat differs:\n"
              "  - environment.image: a:1\n"
              "  + environment.image: a:2\n"
              "  + resources.gpu: 2   (needs --recreate)\n");
}

TEST(Diff, prints_nothing_and_ends_with_0_if_nothing_differs) {
    CannedServer server{200, kJson, R"({"jobId":"chat","action":"unchanged","changes":[]})"};
    const auto outcome = server.run({"diff", "-f", file_of(kChat)});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, "");
}

TEST(Change, each_command_has_its_address_and_prints_the_sentence_of_the_answer) {
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"scale", "chat", "--replicas", "4"}, "PATCH /api/v1/jobs/chat/scale HTTP/1.1"},
        {{"scale", "job", "team-a/chat", "--replicas", "0"},
         "PATCH /api/v1/jobs/chat/scale?namespace=team-a HTTP/1.1"},
        {{"update", "chat", "--image", "a:2"}, "PATCH /api/v1/jobs/chat HTTP/1.1"},
        {{"pause", "chat", "-n", "t"}, "POST /api/v1/jobs/chat/pause?namespace=t HTTP/1.1"},
        {{"resume", "chat"}, "POST /api/v1/jobs/chat/resume HTTP/1.1"}};
    for (const auto& [words, line] : cases) {
        CannedServer server{200, kJson, R"({"jobId":"chat","message":"job chat is so"})"};
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.request_line, line);
        EXPECT_EQ(outcome.out, "job chat is so\n");
    }
}

TEST(Change, wrong_words_are_refused_before_asking) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"scale", "chat"},
                                                  {"scale", "chat", "--replicas", "-1"},
                                                  {"update", "chat", "--priority", "urgent"},
                                                  {"pause", "a", "b"}}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 2) << words[0];
        EXPECT_EQ(outcome.request_line, "");
    }
}

}  // namespace
}  // namespace gpuctl::cli
