// The errors that `gpuctld --check-config` reports about configured files.

#include "daemon/app/files.hpp"

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl::app {
namespace {

std::string found_in(const config::Config& config) {
    const Result<void> checked = check_files(config);
    return checked ? "" : checked.error().message;
}

TEST(CheckFiles, the_defaults_name_no_file) { EXPECT_EQ(found_in(config::Config{}), ""); }

TEST(CheckFiles, tokens_that_a_start_could_not_read_are_found) {
    config::Config config;
    config.server.tokens_file = "/nowhere/tokens";
    EXPECT_EQ(found_in(config),
              "server.tokensFile: read tokens from /nowhere/tokens: it cannot be opened; check "
              "that it exists and that gpuctld may read it");
    api::TokenStore tokens;
    EXPECT_EQ(load_tokens(config, tokens).error().message, found_in(config)) << "at a start";
    const TempDir directory;
    config.server.tokens_file = directory.path();
    EXPECT_EQ(found_in(config),
              "server.tokensFile: read tokens from " + directory.path() + ": it is a directory");
}

TEST(CheckFiles, certificates_that_a_start_could_not_use_are_found) {
    config::Config config;
    config.server.tls.emplace();
    config.server.tls->certificate_file = "/nowhere/tls.crt";
    const std::string missing =
        "server.tls.certificateFile: read /nowhere/tls.crt: No such file or directory; correct the "
        "key, or create the file";
    EXPECT_EQ(found_in(config), missing);
    config.places["server.tls.certificateFile"] = "gpuctld.yaml:3:5";
    EXPECT_EQ(found_in(config), "gpuctld.yaml:3:5: " + missing);
    EXPECT_EQ(read_tls(config).error().message, "gpuctld.yaml:3:5: " + missing) << "at a start";
    config.server.tls->certificate_file = "/dev/null";
    config.server.tls->key_file = "/dev/null";
    EXPECT_NE(found_in(config), "");
}

TEST(CheckFiles, a_missing_kubeconfig_is_found_when_it_is_used) {
    config::Config config;
    config.cluster.kubernetes.kubeconfig = "/nowhere/kubeconfig";
    EXPECT_EQ(found_in(config), "") << "the embedded cluster needs none";
    config.cluster.mode = config::ClusterMode::kubernetes;
    EXPECT_NE(found_in(config).find("/nowhere/kubeconfig"), std::string::npos) << found_in(config);
}

TEST(ErrorLines, each_problem_is_listed_once) {
    EXPECT_EQ(
        error_lines({ErrorCode::InvalidConfiguration,
                     "x.yaml:2:1: port is wrong (and 1 more)",
                     {{{"/port", 2, 1}, "port is wrong"}, {{"/host", 3, 5}, "host is wrong"}}}),
        "x.yaml:2:1: port is wrong (and 1 more)\n  line 3, column 5: host is wrong\n");
    EXPECT_EQ(error_lines({ErrorCode::InvalidConfiguration,
                           "x.yaml:2:1: port is wrong",
                           {{{"/port", 2, 1}, "port is wrong"}}}),
              "x.yaml:2:1: port is wrong\n");
}

}  // namespace
}  // namespace gpuctl::app
