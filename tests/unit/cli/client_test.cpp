// Commands about gpuctl itself: config, completion, doctor.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/grammar.hpp"
#include "cli/version_number.hpp"
#include "text/time.hpp"
#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

const std::string kFile =
    "# my servers\n"
    "current-context: lab\n"
    "contexts:\n"
    "  lab: {server: http://lab.example:8000, token: s3cret-token-of-lab, namespace: team-a}\n"
    "  prod:   # careful\n"
    "    server: http://prod.example:8000\n";

class Config : public testing::Test {
protected:
    void SetUp() override { std::ofstream{path_} << kFile; }
    CannedServer::Outcome run(std::vector<std::string> words) {
        words.insert(words.end(), {"--config", path_});
        CannedServer server{200, kJson, "{}"};
        return server.run(std::move(words));
    }
    std::string text() {
        std::ifstream file{path_};
        std::ostringstream all;
        all << file.rdbuf();
        return all.str();
    }
    std::string path_ = testing::TempDir() + "client_test_config.yaml";
};

TEST_F(Config, lists_contexts_and_marks_the_current_one) {
    const auto outcome = run({"config", "get-contexts"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "CURRENT  NAME  SERVER                    NAMESPACE\n"
              "*        lab   http://lab.example:8000   team-a\n"
              "         prod  http://prod.example:8000  -\n");
    EXPECT_EQ(outcome.request_line, "") << "no server is asked";
    EXPECT_EQ(run({"config", "get-contexts", "-o", "name"}).out, "lab\nprod\n");
    EXPECT_EQ(run({"config", "current-context"}).out, "lab\n");
}

TEST_F(Config, shows_no_token) {
    for (const char* format : {"yaml", "json"}) {
        const auto outcome = run({"config", "view", "-o", format});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.out.find("s3cret"), std::string::npos) << outcome.out;
        EXPECT_NE(outcome.out.find("REDACTED"), std::string::npos) << outcome.out;
    }
    EXPECT_EQ(run({"config", "get-contexts", "--json"}).out.find("s3cret"), std::string::npos);
}

TEST_F(Config, use_context_changes_one_line_and_leaves_the_rest) {
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(run({"config", "use-context", "prod"}).out, "context prod is current now\n");
    std::string expected = kFile;
    expected.replace(expected.find("current-context: lab"), 20, "current-context: \"prod\"");
    EXPECT_EQ(text(), expected);
    EXPECT_EQ(run({"config", "current-context"}).out, "prod\n");
    EXPECT_EQ(std::filesystem::status(path_).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << "a file that only its owner may read stays so";
    const auto wrong = run({"config", "use-context", "prd"});
    EXPECT_NE(wrong.exit_code, 0);
    EXPECT_NE(wrong.err.find("did you mean prod?"), std::string::npos) << wrong.err;
    EXPECT_EQ(text(), expected);
}

TEST(Completion, offers_commands_flags_and_the_values_of_a_flag) {
    CommandLine line;
    const auto app = build(line);
    using Words = std::vector<std::string>;
    EXPECT_EQ(completions(*app, {"desc"}), Words{"describe"});
    EXPECT_EQ(completions(*app, {"get", "no"}), (Words{"node-labels", "nodes", "notebook"}));
    EXPECT_EQ(completions(*app, {"get", "jobs", "--st"}), Words{"--status"});
    EXPECT_EQ(completions(*app, {"get", "jobs", "--kind", "tr"}), Words{"training"});
    EXPECT_EQ(completions(*app, {"completion", "--serv"}), Words{"--server"});
    CannedServer server{200, kJson, "{}"};
    const auto script = server.run({"completion", "bash"});
    EXPECT_EQ(script.exit_code, 0);
    EXPECT_NE(script.out.find("complete -o default -F _gpuctl gpuctl"), std::string::npos);
}

std::string now_text() { return text::format_rfc3339(aio::Loop::wall_ms() / 1'000); }

std::vector<CannedServer::Answer> healthy() {
    return {{200, R"({"version":")" + std::string{kVersion} + R"(","mode":"embedded"})"},
            {200, R"({"status":"healthy","timestamp":")" + now_text() + R"("})"},
            {200, "ok"},
            {200, R"({"name":"alice","role":"user"})"}};
}

TEST(Doctor, finds_nothing_at_a_healthy_server) {
    CannedServer server{healthy()};
    const auto outcome = server.run({"doctor"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("no problem found\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("alice, role user"), std::string::npos) << outcome.out;
}

TEST(Doctor, names_each_problem_and_what_to_do) {
    std::vector<CannedServer::Answer> answers = healthy();
    answers[0].body = R"({"version":"9.9.9","mode":"kubernetes"})";
    answers[1].body = R"({"timestamp":"2001-01-01T00:00:00Z"})";
    answers[2] = {500, "[+]journal ok\n[-]lease failed: following g-2\nreadyz check failed\n"};
    answers[3] = {401, R"({"error":"Unauthorized","message":"this gpuctld requires a token"})"};
    CannedServer server{answers};
    const auto outcome = server.run({"doctor", "--json"});
    EXPECT_EQ(outcome.exit_code, 1);
    const nlohmann::json document = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(document["ok"], false);
    std::map<std::string, std::string> problems;
    for (const auto& check : document["checks"]) {
        if (check["ok"] == false) problems[check["check"]] = check["message"];
    }
    ASSERT_EQ(problems.size(), 4U) << outcome.out;
    EXPECT_NE(problems["versions"].find("gpuctld is 9.9.9"), std::string::npos);
    EXPECT_NE(problems["clock"].find("behind this machine's"), std::string::npos);
    EXPECT_NE(problems["readiness"].find("lease failed: following g-2"), std::string::npos);
    EXPECT_NE(problems["token"].find("set GPUCTL_TOKEN"), std::string::npos);
}

TEST(Doctor, reports_a_server_that_does_not_answer_and_a_broken_configuration) {
    const char* unreachable[] = {"gpuctl", "--server", "http://127.0.0.1:1", "doctor"};
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli::run(4, unreachable), 7);
    EXPECT_NE(testing::internal::GetCapturedStdout().find("PROBLEM"), std::string::npos);
    const std::string path = testing::TempDir() + "client_test_broken.yaml";
    std::ofstream{path} << "contexts: [\n";
    const char* broken[] = {"gpuctl", "--config", path.c_str(), "--context", "lab", "doctor"};
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli::run(6, broken), 1);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_NE(out.find("client_test_broken.yaml"), std::string::npos) << out;
}

}  // namespace
}  // namespace gpuctl::cli
