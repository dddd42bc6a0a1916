// The server, path and token of a command line, and the addresses that it refuses.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

CannedServer::Outcome run_words(const std::vector<std::string>& words) {
    std::vector<const char*> arguments{"gpuctl"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    CannedServer::Outcome outcome;
    outcome.exit_code = cli::run(static_cast<int>(arguments.size()), arguments.data());
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
}

// Regression: port numbers were cut to sixteen bits, so that a request for one server went to
// another, with its token.
TEST(Addresses, a_port_beyond_65535_reaches_no_server) {
    for (const std::uint64_t beyond : {65'536ull, 131'072ull, 4'294'967'296ull}) {
        CannedServer server{200, kJson, R"({"items":[]})"};
        const std::string address = "http://127.0.0.1:" + std::to_string(server.port() + beyond);
        const auto outcome =
            run_words({"--server", address, "--token", "s3cret-token", "get", "pools"});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_TRUE(holds(outcome.err, "ports go from 1 to 65535")) << outcome.err;
        EXPECT_FALSE(holds(outcome.err, "s3cret"));
        EXPECT_TRUE(server.seen().empty()) << server.seen().front();
    }
}

TEST(Addresses, a_path_is_prepended_to_that_of_every_request) {
    for (const char* path : {"/gpu", "/gpu/", "/gpu//"}) {
        CannedServer server{200, kJson, "{}"};
        EXPECT_EQ(server.run({"describe", "job", "b1"}, "http", path).request_line,
                  "GET /gpu/api/v1/jobs/b1 HTTP/1.1");
    }
    CannedServer followed{404, kJson, R"({"error":"JobNotFound","message":"none"})"};
    const auto outcome = followed.run({"logs", "b1", "-f"}, "http", "/a%20b/c");
    EXPECT_EQ(outcome.request_line, "GET /a%20b/c/api/v1/jobs/b1/logs/ws?tail=100 HTTP/1.1");
    EXPECT_TRUE(holds(outcome.request, "Upgrade: websocket"));
}

TEST(Addresses, the_scheme_is_compared_without_case) {
    CannedServer server{200, kJson, "{}"};
    EXPECT_EQ(server.run({"describe", "job", "b1"}, "HTTP").request_line,
              "GET /api/v1/jobs/b1 HTTP/1.1");
}

TEST(Addresses, that_are_invalid_are_refused_before_any_request) {
    const struct {
        const char* server;
        const char* why;
    } table[] = {
        {"http://me:s3cret@127.0.0.1:1", "has a user name before an @"},
        {"http://127.0.0.1:1/?token=x", "has a query"},
        {"http://127.0.0.1:1#x", "has a fragment"},
        {"127.0.0.1:8000", "must begin with https:// or http://"},
        {"http://127.1:8000", "not an IPv4 address"},
        {"http://host\u200b:8000", "U+200B ZERO WIDTH SPACE"},
        {"http://:8000", "names no host"},
        {"http://h:08000", "leading zeros"},
    };
    for (const auto& row : table) {
        const auto outcome = run_words({"--server", row.server, "get", "pools"});
        EXPECT_NE(outcome.exit_code, 0) << row.server;
        EXPECT_TRUE(holds(outcome.err, row.why)) << outcome.err;
        EXPECT_FALSE(holds(outcome.err, "s3cret")) << outcome.err;
        const auto as_json = run_words({"--server", row.server, "get", "pools", "-o=json"});
        EXPECT_TRUE(holds(as_json.out, "\"message\"")) << as_json.out;
        EXPECT_FALSE(holds(as_json.out, "s3cret")) << as_json.out;
    }
    setenv("GPUCTL_SERVER", "http://127.0.0.1:65537", 1);
    const auto outcome = run_words({"get", "pools"});
    unsetenv("GPUCTL_SERVER");
    EXPECT_TRUE(holds(outcome.err, "has port 65537; ports go")) << outcome.err;
}

TEST(Addresses, a_token_follows_no_redirect) {
    for (const int status : {301, 302, 307, 308}) {
        CannedServer elsewhere{200, kJson, R"({"items":[]})"};
        const std::string target = "http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/api";
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"get", "pools"}, {"logs", "b1", "-f"}}) {
            CannedServer server{status, "text/html", "<a>moved</a>", "Location: " + target};
            std::vector<std::string> all = words;
            all.insert(all.end(), {"--token", "s3cret-token"});
            const auto outcome = server.run(all);
            EXPECT_TRUE(holds(outcome.request, "Bearer s3cret-token"));
            EXPECT_NE(outcome.exit_code, 0);
            EXPECT_TRUE(holds(outcome.err, "redirects to " + target)) << outcome.err;
            EXPECT_TRUE(holds(outcome.err, "not followed")) << outcome.err;
        }
        EXPECT_TRUE(elsewhere.seen().empty());
    }
}

TEST(Tokens, with_a_line_end_or_an_invisible_character_are_refused_and_never_shown) {
    for (const std::string token :
         {"s3cret\n", "s3cret\r\nX-Evil: s3cret", "s3cret\u200b", "s3 cret", "s3cret\x7f"}) {
        CannedServer flag{200, kJson, "{}"};
        const auto by_flag = flag.run({"get", "pools", "--token", token});
        EXPECT_NE(by_flag.exit_code, 0);
        EXPECT_EQ(by_flag.request, "");
        EXPECT_TRUE(holds(by_flag.err, "--token")) << by_flag.err;
        EXPECT_FALSE(holds(by_flag.err + by_flag.out, "cret")) << by_flag.err;
        CannedServer variable{200, kJson, "{}"};
        setenv("GPUCTL_TOKEN", token.c_str(), 1);
        const auto by_variable = variable.run({"get", "pools"});
        unsetenv("GPUCTL_TOKEN");
        EXPECT_EQ(by_variable.request, "");
        EXPECT_TRUE(holds(by_variable.err, "GPUCTL_TOKEN")) << by_variable.err;
        EXPECT_FALSE(holds(by_variable.err, "cret")) << by_variable.err;
    }
}

TEST(Tokens, of_a_file_may_be_followed_by_one_line_end) {
    const std::string folder = testing::TempDir();
    const std::string config = folder + "tokens_test.yaml";
    const std::string file = folder + "tokens_test.token";
    setenv("GPUCTL_CONFIG", config.c_str(), 1);
    const auto with = [&](const std::string& content) {
        std::ofstream{file} << content;
        std::ofstream{config} << "contexts:\n  lab:\n    token-file: " << file << "\n";
        CannedServer server{200, kJson, "{}"};
        return server.run({"describe", "job", "b1", "--context", "lab"});
    };
    for (const char* good : {"s3cret", "s3cret\n", "s3cret\r\n", "s3cret user eve\n"}) {
        EXPECT_TRUE(holds(with(good).request, "Authorization: Bearer s3cret\r\n")) << good;
    }
    for (const char* bad : {"", "\n", "\ns3cret\n", "s3cret\n\n", "s3\rcret\n", "\ufeffs3cret\n"}) {
        const auto outcome = with(bad);
        EXPECT_EQ(outcome.exit_code, 1) << bad;
        EXPECT_EQ(outcome.request, "") << "a request without the token that was asked for";
        EXPECT_TRUE(holds(outcome.err, config + ":3: the token file " + file)) << outcome.err;
        EXPECT_FALSE(holds(outcome.err, "cret")) << outcome.err;
    }
    unsetenv("GPUCTL_CONFIG");
}

TEST(Habits, of_other_command_lines_are_understood) {
    const struct {
        std::vector<std::string> words;
        const char* request;
    } table[] = {
        {{"get", "jobs", "-n=team-a", "-o=json"}, "namespace=team-a"},
        {{"get", "jobs", "-o=json", "-n=team-a"}, "namespace=team-a"},
        {{"-n=team-a"}, ""},
        {{"describe", "job", "b1", "-n=team-a", "-o=yaml"}, "/jobs/b1?namespace=team-a"},
        {{"delete", "job", "b1", "-n=team-a"}, "/jobs/b1?namespace=team-a"},
        {{"delete", "job/b1", "-n=team-a"}, "/jobs/b1?namespace=team-a"},
        {{"logs", "b1", "-c=mesh"}, "container=mesh"},
        {{"logs", "b1", "-f=false"}, "/jobs/b1/logs?"},
        {{"get", "jobs", "-A=true"}, "GET /api/v1/jobs?"},
        {{"get", "pools", "-ojson"}, "GET /api/v1/pools?"},
    };
    for (const auto& row : table) {
        CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
        const auto outcome = server.run(row.words);
        if (*row.request == '\0') {
            EXPECT_NE(outcome.exit_code, 0);
            continue;
        }
        EXPECT_TRUE(holds(outcome.request_line, row.request)) << row.request << "\n"
                                                              << outcome.request_line << "\n"
                                                              << outcome.err;
    }
    CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
    EXPECT_EQ(server.run({"get", "pools", "-o=name"}).err, "") << "the value is name, not =name";
    CannedServer other{200, kJson, "{}"};
    const auto outcome = other.run({"get", "pools", "-o=jsn"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(holds(outcome.err, "jsn")) << outcome.err;
    EXPECT_FALSE(holds(outcome.err, "=jsn")) << outcome.err;
}

TEST(Values, that_are_empty_or_have_invisible_characters_are_refused) {
    const struct {
        std::vector<std::string> words;
        const char* says;
    } table[] = {
        {{"get", "jobs", "-n", ""}, "--namespace is empty"},
        {{"get", "jobs", "-n="}, "--namespace"},
        {{"get", "jobs", "--namespace="}, "--namespace"},
        {{"get", "jobs", "--pool", ""}, "--pool is empty"},
        {{"get", "pools", "--token", ""}, "--token is empty"},
        {{"get", "pools", "--context", ""}, "--context is empty"},
        {{"get", "pools", ""}, "NAME is empty"},
        {{"get", "jobs", "-n", "team\u200b-a"}, "--namespace contains U+200B ZERO WIDTH SPACE"},
        {{"get", "jobs", "--status", "Running\u00a0"}, "--status contains U+00A0 NO-BREAK SPACE"},
        {{"get", "pools", "p\u202e"}, "NAME contains U+202E RIGHT-TO-LEFT OVERRIDE"},
    };
    for (const auto& row : table) {
        CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
        const auto outcome = server.run(row.words);
        EXPECT_EQ(outcome.exit_code, 2) << row.says;
        EXPECT_EQ(outcome.request_line, "") << row.says;
        EXPECT_TRUE(holds(outcome.err, row.says)) << outcome.err;
    }
    const auto server = run_words({"--server", "", "get", "pools"});
    EXPECT_EQ(server.exit_code, 2);
    EXPECT_TRUE(holds(server.err, "--server is empty")) << server.err;
}

TEST(Values, of_variables_that_are_empty_are_ignored_with_a_warning) {
    for (const char* name : {"GPUCTL_TOKEN", "DEFAULT_NAMESPACE"}) {
        setenv(name, "", 1);
        CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
        const auto outcome = server.run({"get", "jobs"});
        unsetenv(name);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_TRUE(holds(outcome.err, std::string{name} + " is set but empty, and is ignored"))
            << outcome.err;
    }
    setenv("DEFAULT_NAMESPACE", "team\u00ad", 1);
    const auto outcome = run_words({"get", "jobs"});
    unsetenv("DEFAULT_NAMESPACE");
    EXPECT_TRUE(
        holds(outcome.err, "DEFAULT_NAMESPACE cannot be used: it contains U+00AD SOFT HYPHEN"))
        << outcome.err;
}

}  // namespace
}  // namespace gpuctl::cli
