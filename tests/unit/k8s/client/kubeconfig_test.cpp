#include "k8s/auth/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "k8s/auth/kubeconfig_text.hpp"

namespace gpuctl::k8s {
namespace {

namespace fs = std::filesystem;

class Kubeconfig : public ::testing::Test {
protected:
    Kubeconfig()
        : folder_(fs::path{::testing::TempDir()} / ("kubeconfig-" + std::to_string(::getpid()))) {
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "sub");
    }
    ~Kubeconfig() override { fs::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) {
        std::ofstream{folder_ / name} << text;
        return (folder_ / name).string();
    }
    Environment environment() {
        return [this](std::string_view name) -> std::optional<std::string> {
            const auto found = variables.find(std::string{name});
            if (found == variables.end()) return std::nullopt;
            return found->second;
        };
    }
    // One cluster, one user, one context; the bodies are pasted in.
    static std::string usual(const std::string& cluster, const std::string& user) {
        return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
               "clusters: [{name: c, cluster: {" +
               cluster +
               "}}]\n"
               "users: [{name: u, user: {" +
               user +
               "}}]\n"
               "contexts: [{name: main, context: {cluster: c, user: u, namespace: team}}]\n";
    }
    Result<ClusterAccess> load(const std::string& text) {
        return load_kubeconfig({write("config", text), ""}, environment());
    }
    std::string refusal(const std::string& text) {
        auto access = load(text);
        if (access) return "accepted";
        EXPECT_EQ(access.error().code, ErrorCode::InvalidConfiguration);
        EXPECT_NE(access.error().message.find((folder_ / "config").string()), std::string::npos)
            << access.error().message;
        return access.error().message;
    }

    fs::path folder_;
    std::map<std::string, std::string> variables;
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST_F(Kubeconfig, a_usual_file_gives_server_identity_and_namespace) {
    auto access =
        load(usual("server: 'https://10.0.0.1:6443/prefix/', tls-server-name: api, "
                   "certificate-authority: sub/ca.pem",
                   "token: secret"));
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server, (text::Url{true, "10.0.0.1", 6443, "/prefix"}));
    EXPECT_EQ(access->ca.file, (folder_ / "sub/ca.pem").string()) << "next to the file naming it";
    EXPECT_EQ(access->tls_server_name, "api");
    EXPECT_EQ(access->token, "secret");
    EXPECT_EQ(access->namespace_name, "team");
}

TEST_F(Kubeconfig, inline_data_wins_over_the_file) {
    auto access =
        load(usual("server: 'https://h', certificate-authority: x, "
                   "certificate-authority-data: aGVsbG8=",
                   ""));
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->ca.data, "hello");
    EXPECT_EQ(access->ca.file, "");
    EXPECT_EQ(access->server.port, 443);
}

TEST_F(Kubeconfig, of_several_files_the_first_definition_of_a_name_wins) {
    const std::string first =
        write("first", "current-context: main\nusers: [{name: u, user: {token: from-first}}]\n");
    const std::string second =
        write("sub/second", usual("server: 'http://h'", "token: from-second"));
    variables["KUBECONFIG"] = first + ":/does/not/exist:" + second;
    auto access = load_kubeconfig({}, environment());
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->token, "from-first");
    EXPECT_FALSE(access->server.is_https);
    EXPECT_EQ(access->server.port, 80);
}

TEST_F(Kubeconfig, the_home_directory_is_the_last_resort_and_nothing_at_all_is_an_error) {
    fs::create_directories(folder_ / ".kube");
    write(".kube/config", usual("server: 'https://home'", ""));
    variables["HOME"] = folder_.string();
    auto access = load_kubeconfig({}, environment());
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server.host, "home");
    variables.clear();
    EXPECT_FALSE(load_kubeconfig({}, environment()));
    EXPECT_FALSE(load_kubeconfig({(folder_ / "absent").string(), ""}, environment()));
}

TEST_F(Kubeconfig, a_context_is_chosen_by_name) {
    const std::string text = usual("server: 'https://h'", "token: t") + "preferences: {}\n";
    const std::string path = write("config", text);
    EXPECT_TRUE(load_kubeconfig({path, "main"}, environment()));
    auto missing = load_kubeconfig({path, "other"}, environment());
    ASSERT_FALSE(missing);
    EXPECT_TRUE(contains(missing.error().message, "'other'"));
}

TEST_F(Kubeconfig, a_mistake_is_reported_with_file_and_key) {
    const std::string https = "server: 'https://h'";
    EXPECT_TRUE(contains(refusal(usual(https + ", insecure-skip-tls-verify: true, "
                                               "certificate-authority-data: aGk=",
                                       "")),
                         "clusters[name=c].insecure-skip-tls-verify"));
    EXPECT_TRUE(contains(refusal(usual(https + ", proxy-url: 'http://p'", "")), "proxy-url"));
    EXPECT_TRUE(contains(refusal(usual(https, "auth-provider: {name: gcp}")), "auth-provider"));
    EXPECT_TRUE(contains(refusal(usual("server: h", "")), "must begin with https://"));
    EXPECT_TRUE(contains(refusal(usual("", "")), "clusters[name=c].server is missing"));
    EXPECT_TRUE(contains(refusal(usual("server: 'https://h:99999'", "")),
                         "clusters[name=c].server has port 99999; ports go from 1 to 65535"));
    const std::string with_password = refusal(usual("server: 'https://u:s3cret@h'", ""));
    EXPECT_TRUE(contains(with_password, "has a user name before an @"));
    EXPECT_FALSE(contains(with_password, "s3cret"));
    EXPECT_TRUE(contains(refusal(usual(https, "client-key-data: aGk=")), "client-certificate"));
    EXPECT_TRUE(contains(refusal(usual(https, "client-certificate-data: '*'")), "base64"));
    EXPECT_TRUE(contains(refusal(usual(https, "token: [1]")), "users[name=u].token must be text"));
    EXPECT_TRUE(contains(refusal("current-context: x\n"), "no context named 'x'"));
    EXPECT_TRUE(contains(refusal("clusters: []\n"), "current-context is not set"));
    EXPECT_TRUE(contains(refusal("clusters: [\n"), "line"));
    EXPECT_TRUE(contains(refusal("- 1\n"), "must be a mapping"));
    EXPECT_TRUE(
        contains(refusal("current-context: m\ncontexts: [{name: m, context: {cluster: z}}]\n"),
                 "names 'z', which is not defined"));
    EXPECT_TRUE(
        contains(refusal("current-context: m\ncontexts: {a: b}\n"), "contexts must be a list"));
    EXPECT_TRUE(contains(refusal(usual(https, "as-groups: [g]")), "users[name=u].as is missing"));
}

TEST_F(Kubeconfig, exec_plugins_are_checked_before_they_are_ever_run) {
    const std::string https = "server: 'https://h'";
    const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
    auto access = load(usual(https, "exec: {" + v1 +
                                        ", command: sub/plugin, args: [a, b], "
                                        "interactiveMode: Never, provideClusterInfo: true, "
                                        "env: [{name: K, value: V}]}"));
    ASSERT_TRUE(access) << access.error().message;
    ASSERT_TRUE(access->exec);
    EXPECT_EQ(access->exec->command, (folder_ / "sub/plugin").string());
    EXPECT_EQ(access->exec->arguments, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(access->exec->environment.at(0).second, "V");
    EXPECT_TRUE(access->exec->provide_cluster_info);

    auto with_token =
        load(usual(https, "token: t, exec: {" + v1 + ", command: x, interactiveMode: Never}"));
    ASSERT_TRUE(with_token);
    EXPECT_FALSE(with_token->exec) << "another way to authenticate is given";

    EXPECT_TRUE(
        contains(refusal(usual(https, "exec: {" + v1 + ", command: x, interactiveMode: Always}")),
                 "no terminal"));
    EXPECT_TRUE(contains(refusal(usual(https, "exec: {" + v1 + ", command: x}")),
                         "interactiveMode is missing"));
    EXPECT_TRUE(contains(
        refusal(
            usual(https, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}")),
        "v1alpha1"));
    EXPECT_TRUE(contains(refusal(usual(https, "exec: {" + v1 + ", interactiveMode: Never}")),
                         "exec.command"));
}

TEST_F(Kubeconfig, impersonation_is_read_whole) {
    auto access =
        load(usual("server: 'https://h'",
                   "as: jane, as-uid: '7', as-groups: [dev, ops], as-user-extra: {scope: [a, b]}"));
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->impersonate.user, "jane");
    EXPECT_EQ(access->impersonate.groups.size(), 2u);
    EXPECT_EQ(access->impersonate.extra.at("scope").size(), 2u);
}

TEST_F(Kubeconfig, inside_a_pod_the_service_account_is_used) {
    EXPECT_FALSE(in_cluster_access(environment(), folder_.string()));
    variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
    variables["KUBERNETES_SERVICE_PORT"] = "443";
    write("namespace", "gpuctl-system\n");
    auto access = in_cluster_access(environment(), folder_.string());
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server, (text::Url{true, "fd00::1", 443, ""}));
    EXPECT_EQ(access->namespace_name, "gpuctl-system");
    EXPECT_EQ(access->token_file, (folder_ / "token").string());
    EXPECT_EQ(access->ca.file, (folder_ / "ca.crt").string());
}

TEST_F(Kubeconfig, the_servers_address_in_a_pod_is_checked_like_every_address) {
    const auto refusal_of = [this](const char* host, const char* port) -> std::string {
        variables["KUBERNETES_SERVICE_HOST"] = host;
        variables["KUBERNETES_SERVICE_PORT"] = port;
        auto access = in_cluster_access(environment(), folder_.string());
        return access ? "accepted" : access.error().message;
    };
    EXPECT_EQ(refusal_of("10.0.0.1", "443"), "accepted");
    EXPECT_EQ(refusal_of("[fd00::1]", "443"), "accepted");
    EXPECT_TRUE(contains(refusal_of("10.0.0.1", "65979"),  // 443 in sixteen bits
                         "KUBERNETES_SERVICE_PORT has port 65979; ports go from 1 to 65535"));
    EXPECT_TRUE(contains(refusal_of("10.0.0.1", "tcp://10.0.0.1:443"), "as port"));
    EXPECT_TRUE(contains(refusal_of("10.0.0.1:443", "443"), "KUBERNETES_SERVICE_HOST"));
    EXPECT_TRUE(contains(refusal_of("10.0.0.1\n", "443"), "U+000A LINE FEED"));
}

TEST_F(Kubeconfig, a_huge_file_and_a_directory_are_refused) {
    const std::string big = write("big", std::string((1u << 20) + 1, ' '));
    auto access = load_kubeconfig({big, ""}, environment());
    ASSERT_FALSE(access);
    EXPECT_TRUE(contains(access.error().message, "1 MiB"));
    EXPECT_FALSE(load_kubeconfig({folder_.string(), ""}, environment()));
}

TEST(Base64, round_trips_and_refuses_invalid_text) {
    for (const std::string text : {"", "a", "ab", "abc", "abcd", "\xff\x00\x10"}) {
        EXPECT_EQ(decode_base64(encode_base64(text)), text);
    }
    EXPECT_EQ(decode_base64("aGVs\nbG8="), "hello");
    for (const char* bad : {"a", "aGk", "a===", "aG*=", "=aGk", "aG=k"}) {
        EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
    }
}

}  // namespace
}  // namespace gpuctl::k8s
