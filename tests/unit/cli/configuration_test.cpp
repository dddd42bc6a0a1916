// The user's configuration file: the values it gives, and the errors about a wrong one.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

class Configuration : public testing::Test {
protected:
    void SetUp() override { setenv("GPUCTL_CONFIG", path_.c_str(), 1); }
    void TearDown() override { unsetenv("GPUCTL_CONFIG"); }

    struct Outcome {
        int exit_code;
        std::string err;
    };
    // The output of `gpuctl version --client`, which sends no request, with this file.
    Outcome with(const std::string& text, std::vector<const char*> more = {}) {
        std::vector<const char*> words{"gpuctl", "version", "--client"};
        words.insert(words.end(), more.begin(), more.end());
        write(text);
        return run(words);
    }
    static Outcome run(const std::vector<const char*>& words) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int exit_code = cli::run(static_cast<int>(words.size()), words.data());
        testing::internal::GetCapturedStdout();
        return {exit_code, testing::internal::GetCapturedStderr()};
    }
    void write(const std::string& text) { std::ofstream{path_} << text; }

    const std::string path_ = testing::TempDir() + "configuration_test.yaml";
};

TEST_F(Configuration, a_context_gives_the_values_that_the_command_line_omits) {
    write("current-context: lab\ncontexts:\n  lab: {token: secret, namespace: team-a}\n");
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"get", "jobs", "--context", "lab"});
    EXPECT_NE(outcome.request.find("Authorization: Bearer secret\r\n"), std::string::npos);
    EXPECT_NE(outcome.request_line.find("namespace=team-a"), std::string::npos);
}

TEST_F(Configuration, all_namespaces_overrides_the_namespace_of_the_context) {
    write("current-context: lab\ncontexts:\n  lab: {token: secret, namespace: team-a}\n");
    setenv("DEFAULT_NAMESPACE", "team-c", 1);
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"get", "jobs", "-A", "--context", "lab"});
    unsetenv("DEFAULT_NAMESPACE");
    EXPECT_NE(outcome.request.find("Authorization: Bearer secret\r\n"), std::string::npos);
    EXPECT_EQ(outcome.request_line.find("namespace"), std::string::npos) << outcome.request_line;
    EXPECT_EQ(run({"gpuctl", "get", "jobs", "-A", "-n", "team-b"}).exit_code, 2);
}

TEST_F(Configuration, an_explicit_server_needs_no_file_and_gets_no_token_of_it) {
    write("current-context: gone\ncontexts: {lab: {token: secret}}\n");
    CannedServer server{200, "application/json", R"({"version":"1"})"};
    const auto outcome = server.run({"version"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    write("current-context: lab\ncontexts: {lab: {token: secret}}\n");
    CannedServer another{200, "application/json", R"({"version":"1"})"};
    EXPECT_EQ(another.run({"version"}).request.find("secret"), std::string::npos);
}

TEST_F(Configuration, a_context_named_by_flag_wins_over_the_server_of_the_environment) {
    setenv("GPUCTL_SERVER", "http://127.0.0.1:1", 1);
    write("contexts: {lab: {server: 'http://127.0.0.1:2', token: secret}}\n");
    const Outcome flag = run({"gpuctl", "get", "jobs", "--context", "lab"});
    EXPECT_NE(flag.err.find("reach gpuctld at http://127.0.0.1:2"), std::string::npos) << flag.err;
    const Outcome none = run({"gpuctl", "get", "jobs"});
    EXPECT_NE(none.err.find("reach gpuctld at http://127.0.0.1:1"), std::string::npos) << none.err;
    unsetenv("GPUCTL_SERVER");
}

// In a pod, the kubelet adds these for Services `gpuctl`, `gpuctl-server`, `gpuctl-token`,
// `default`.
TEST_F(Configuration, variables_of_services_in_a_pod_say_nothing_about_the_server) {
    std::vector<std::string> names;
    for (const std::string prefix : {"GPUCTL", "GPUCTL_SERVER", "GPUCTL_TOKEN", "GPUCTL_CONTEXT",
                                     "GPUCTL_CONFIG", "DEFAULT", "DEFAULT_NAMESPACE"}) {
        for (const char* form :
             {"_SERVICE_HOST", "_SERVICE_PORT", "_SERVICE_PORT_HTTPS", "_PORT", "_PORT_443_TCP",
              "_PORT_443_TCP_PROTO", "_PORT_443_TCP_PORT", "_PORT_443_TCP_ADDR"}) {
            names.push_back(prefix + form);
        }
    }
    for (const std::string& name : names) setenv(name.c_str(), "tcp://10.0.0.7:443", 1);
    write("current-context: lab\ncontexts: {lab: {server: 'http://127.0.0.1:2'}}\n");
    const Outcome outcome = run({"gpuctl", "get", "jobs"});
    for (const std::string& name : names) unsetenv(name.c_str());
    EXPECT_NE(outcome.err.find("reach gpuctld at http://127.0.0.1:2"), std::string::npos)
        << outcome.err;
}

TEST_F(Configuration, an_unknown_context_is_reported_with_the_known_ones) {
    EXPECT_EQ(with("current-context: gone\ncontexts: {lab: {}, prod: {}}\n").err,
              "error (InvalidConfiguration): context gone does not exist in " + path_ +
                  ":1; the file has: lab prod\n");
    EXPECT_EQ(with("contexts: {lab: {}}\n", {"--context", "labb"}).err,
              "error (InvalidConfiguration): context labb does not exist in " + path_ +
                  "; did you mean lab? the file has: lab\n");
}

TEST_F(Configuration, an_invisible_character_in_the_current_context_is_named) {
    const Outcome outcome = with("current-context: a\u200b\ncontexts: {a: {}}\n");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find(":1: current-context "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("U+200B"), std::string::npos) << outcome.err;
}

TEST_F(Configuration, contexts_in_a_list_are_refused_with_the_right_form) {
    const Outcome outcome = with("current-context: lab\ncontexts:\n- name: lab\n");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error (InvalidConfiguration): read " + path_ +
                               ":2: contexts must be a mapping (contexts: {NAME: {server: "
                               "URL}}), not a list\n");
}

TEST_F(Configuration, a_mistyped_key_is_refused_with_the_nearest_right_one) {
    EXPECT_EQ(with("contexts: {}\ncurrentContext: lab\n").err,
              "error (InvalidConfiguration): read " + path_ +
                  ":2: there is no key currentContext; did you mean current-context?\n");
    EXPECT_EQ(with("contexts:\n  lab:\n    ca_file: x\n").err,
              "error (InvalidConfiguration): read " + path_ +
                  ":3: there is no key contexts.lab.ca_file; did you mean ca-file?\n");
    EXPECT_EQ(with("contexts:\n  lab:\n    colour: x\n").err,
              "error (InvalidConfiguration): read " + path_ +
                  ":3: there is no key contexts.lab.colour; there are server, token, "
                  "token-file, ca-file, certificate-file, key-file, namespace\n");
}

TEST_F(Configuration, values_must_be_text) {
    EXPECT_EQ(
        with("contexts:\n  lab:\n    server: [a]\n").err,
        "error (InvalidConfiguration): read " + path_ + ":3: contexts.lab.server must be text\n");
}

TEST_F(Configuration, a_broken_file_is_reported_with_its_line_and_what_to_do) {
    const Outcome outcome = with("contexts:\n  lab: [1\nx: }\n");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.err.starts_with("error (InvalidConfiguration): read " + path_ + ":3"))
        << outcome.err;
    EXPECT_NE(outcome.err.find("; fix it, or name the server with --server"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(outcome.err.find("yaml-cpp"), std::string::npos) << outcome.err;
}

TEST_F(Configuration, an_empty_file_sets_no_value) { EXPECT_EQ(with("# later\n").exit_code, 0); }

}  // namespace
}  // namespace gpuctl::cli
