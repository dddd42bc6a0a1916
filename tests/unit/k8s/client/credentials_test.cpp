#include "k8s/auth/credentials.hpp"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "k8s/auth/credentials_exec.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

class CredentialsTest : public LoopTest {
protected:
    CredentialsTest()
        : folder(fs::path{::testing::TempDir()} / ("credentials-" + std::to_string(::getpid()))) {
        fs::remove_all(folder);
        fs::create_directories(folder);
    }
    ~CredentialsTest() override { fs::remove_all(folder); }

    std::string write(const std::string& name, const std::string& text) {
        std::ofstream{folder / name} << text;
        return (folder / name).string();
    }
    ExecPlugin plugin_of(const std::string& shell_text) {
        ExecPlugin plugin;
        plugin.api_version = "client.authentication.k8s.io/v1";
        plugin.command = write("plugin", "#!/bin/sh\n" + shell_text + "\n");
        ::chmod(plugin.command.c_str(), 0700);
        return plugin;
    }
    static std::string answer(const std::string& status) {
        return R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
               status + "}'";
    }
    ClusterAccess access_to(const ScriptedServer& server) {
        ClusterAccess access;
        access.origin = "test";
        access.server = {false, "127.0.0.1", server.port(), ""};
        return access;
    }
    static std::string read(const std::string& file) {
        std::ifstream in{file};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    std::vector<std::string> tokens(const ScriptedServer& server) {
        std::vector<std::string> out;
        for (const SeenRequest& request : server.received())
            out.push_back(request.header("Authorization"));
        return out;
    }

    fs::path folder;
};

using Tokens = std::vector<std::string>;

TEST_F(CredentialsTest, a_token_file_is_read_again_and_its_last_good_content_kept) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    access.token_file = write("token", "first\n");
    ClientSettings settings;
    settings.credentials.token_file_reread = milliseconds{0};
    auto client = client_of(access, settings);
    (void)run(client->get("/", soon()));
    write("token", "second\n");
    (void)run(client->get("/", soon()));
    fs::remove(folder / "token");
    (void)run(client->get("/", soon()));
    EXPECT_EQ(tokens(server), (Tokens{"Bearer first", "Bearer second", "Bearer second"}));
}

TEST_F(CredentialsTest, the_token_file_is_not_read_again_within_the_interval) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    access.token_file = write("token", "first\n");
    auto client = client_of(access, {});
    write("token", "second\n");
    (void)run(client->get("/", soon()));
    EXPECT_EQ(tokens(server), Tokens{"Bearer first"});
}

TEST_F(CredentialsTest, a_401_reads_the_token_again_and_sends_once_more) {
    ScriptedServer server{[](const SeenRequest& request, Reply& reply) {
        reply.respond(request.header("Authorization") == "Bearer second" ? 200 : 401, "{}");
    }};
    ClusterAccess access = access_to(server);
    access.token_file = write("token", "first\n");
    auto client = client_of(access, {});
    write("token", "second\n");
    EXPECT_TRUE(run(client->get("/", soon())));
    EXPECT_EQ(tokens(server), (Tokens{"Bearer first", "Bearer second"}));
}

TEST_F(CredentialsTest, a_token_that_stays_refused_is_sent_once_per_call) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(401, "{}"); }};
    ClusterAccess access = access_to(server);
    access.token_file = write("token", "wrong\n");
    auto client = client_of(access, {});
    const auto refused = run(client->get("/", soon()));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unauthorized);
    EXPECT_EQ(server.received().size(), 1u);
}

TEST_F(CredentialsTest, unreadable_secrets_are_refused_at_the_start_with_file_and_key) {
    ClusterAccess access;
    access.token_file = (folder / "absent").string();
    auto missing = Credentials::create(loop, access, {});
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find((folder / "absent").string()), std::string::npos);
    access.token_file.clear();
    access.ca.file = write("ca.pem", "no pem");
    auto no_pem = Credentials::create(loop, access, {});
    ASSERT_FALSE(no_pem);
    EXPECT_NE(no_pem.error().message.find("certificate-authority"), std::string::npos);
}

TEST_F(CredentialsTest, changed_certificate_files_open_new_connections) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    access.ca.file = write("ca.pem", "-----BEGIN CERTIFICATE-----\nold\n");
    ClientSettings settings;
    settings.credentials.certificate_reread = milliseconds{0};
    auto client = client_of(access, settings);
    (void)run(client->get("/", soon()));
    (void)run(client->get("/", soon()));
    write("ca.pem", "-----BEGIN CERTIFICATE-----\nnew\n");
    (void)run(client->get("/", soon()));
    const auto seen = server.received();
    EXPECT_EQ(seen.at(0).connection, seen.at(1).connection);
    EXPECT_NE(seen.at(1).connection, seen.at(2).connection);
}

TEST_F(CredentialsTest, a_plugin_runs_once_and_its_token_is_kept) {
    ScriptedServer server{[](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    access.exec = plugin_of("echo run >> " + (folder / "runs").string() + "\n" +
                            answer(R"({"token":"from-plugin"})"));
    auto client = client_of(access, {});
    (void)run(client->get("/", soon()));
    (void)run(client->get("/", soon()));
    EXPECT_EQ(tokens(server), (Tokens{"Bearer from-plugin", "Bearer from-plugin"}));
    EXPECT_EQ(fs::file_size(folder / "runs"), 4u);
}

TEST_F(CredentialsTest, an_expired_plugin_credential_is_requested_again_and_after_a_401_too) {
    std::atomic<int> refuse{0};
    ScriptedServer server{
        [&](const SeenRequest&, Reply& reply) { reply.respond(refuse-- > 0 ? 401 : 200, "{}"); }};
    ClusterAccess access = access_to(server);
    access.exec = plugin_of(
        "echo run >> " + (folder / "runs").string() + "\nn=$(wc -l < " +
        (folder / "runs").string() + ")\n" +
        R"(echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t$n\",\"expirationTimestamp\":\"$EXPIRY\"}}")");
    access.exec->environment = {{"EXPIRY", "2020-01-01T00:00:00Z"}};
    {
        auto client = client_of(access, {});
        (void)run(client->get("/", soon()));
        (void)run(client->get("/", soon()));
        EXPECT_EQ(tokens(server), (Tokens{"Bearer t1", "Bearer t2"}));
    }
    access.exec->environment = {{"EXPIRY", "2999-01-01T00:00:00+02:00"}};
    auto client = client_of(access, {});
    (void)run(client->get("/", soon()));
    refuse = 1;
    EXPECT_TRUE(run(client->get("/", soon())));
    EXPECT_EQ(tokens(server),
              (Tokens{"Bearer t1", "Bearer t2", "Bearer t3", "Bearer t3", "Bearer t4"}));
}

TEST_F(CredentialsTest, a_plugin_that_fails_is_not_run_again_for_each_request) {
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    const std::string runs = (folder / "runs").string();
    access.exec = plugin_of("echo run >> " + runs + "\necho no >&2\nexit 1");
    auto client = client_of(access, {});
    for (int i = 0; i < 3; ++i) {
        const auto refused = run(client->get("/", soon()));
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("no"), std::string::npos) << "why it failed is kept";
    }
    EXPECT_EQ(read(runs), "run\n");
}

TEST_F(CredentialsTest, a_token_that_is_still_valid_is_used_while_its_plugin_fails) {
    ScriptedServer server{[&](const SeenRequest&, Reply& reply) { reply.respond(200, "{}"); }};
    ClusterAccess access = access_to(server);
    const std::string runs = (folder / "runs").string();
    access.exec =
        plugin_of("echo run >> " + runs + "\n[ $(wc -l < " + runs + ") -gt 1 ] && exit 1\n" +
                  answer(R"({"token":"once","expirationTimestamp":"2999-01-01T00:00:00Z"})"));
    ClientSettings settings;  // every credential is due for renewal at once
    settings.credentials.expiry_leeway = std::chrono::hours{24 * 366 * 1'000};
    auto client = client_of(access, settings);
    EXPECT_TRUE(run(client->get("/", soon())));
    EXPECT_TRUE(run(client->get("/", soon())));
    EXPECT_EQ(tokens(server), (Tokens{"Bearer once", "Bearer once"}));
    EXPECT_EQ(read(runs), "run\nrun\n");
}

TEST_F(CredentialsTest, a_plugin_gets_the_cluster_and_its_environment) {
    ExecPlugin plugin = plugin_of(R"(echo "$KUBERNETES_EXEC_INFO|$EXTRA|$1" > )" +
                                  (folder / "info").string() + "\n" + answer(R"({"token":"t"})"));
    plugin.provide_cluster_info = true;
    plugin.environment = {{"EXTRA", "x y"}};
    plugin.arguments = {"a; b"};
    ClusterAccess access;
    access.server = {true, "fd00::1", 6443, "/clusters/a"};
    ASSERT_TRUE(run_exec_plugin(plugin, exec_info(plugin, access, "ca"), milliseconds{5'000}));
    std::ifstream in{folder / "info"};
    std::string line;
    std::getline(in, line);
    EXPECT_NE(line.find(R"("server":"https://[fd00::1]:6443/clusters/a")"), std::string::npos)
        << line;
    EXPECT_NE(line.find(R"("interactive":false)"), std::string::npos);
    EXPECT_NE(line.find("|x y|a; b"), std::string::npos) << "no shell in between";
}

TEST_F(CredentialsTest, each_error_of_a_plugin_has_a_sentence) {
    const auto message = [&](const std::string& text, milliseconds timeout = milliseconds{5'000}) {
        const auto result = run_exec_plugin(plugin_of(text), "{}", timeout);
        return result ? std::string{"accepted"} : result.error().message;
    };
    EXPECT_NE(message("echo broken >&2; exit 3").find("code 3 (broken)"), std::string::npos);
    EXPECT_NE(message("kill -9 $$").find("signal 9"), std::string::npos);
    EXPECT_NE(message("echo no json").find("not an ExecCredential"), std::string::npos);
    EXPECT_NE(message(answer("{}")).find("neither a token"), std::string::npos);
    EXPECT_NE(message(answer(R"({"clientCertificateData":"x"})")).find("without a key"),
              std::string::npos);
    EXPECT_NE(message(answer(R"({"token":"t","expirationTimestamp":"soon"})")).find("'soon'"),
              std::string::npos);
    EXPECT_NE(message("sleep 60 & sleep 60", milliseconds{100}).find("killed"), std::string::npos);
    EXPECT_NE(message("yes").find("longer than 1 MiB"), std::string::npos);
    const std::string torn = message(answer(R"({"token":"s3cret\u0001s3cret"})"));
    EXPECT_NE(torn.find("its token contains U+0001 START OF HEADING"), std::string::npos) << torn;
    EXPECT_EQ(torn.find("s3cret"), std::string::npos) << torn;
    ExecPlugin absent = plugin_of("");
    absent.command = (folder / "absent").string();
    absent.install_hint = "install it";
    const auto result = run_exec_plugin(absent, "{}", milliseconds{1'000});
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("install it"), std::string::npos);
    ExecPlugin other = plugin_of(answer(R"({"token":"t"})"));
    other.api_version = "client.authentication.k8s.io/v1beta1";
    EXPECT_FALSE(run_exec_plugin(other, "{}", milliseconds{5'000})) << "another version answered";
}

}  // namespace
}  // namespace gpuctl::k8s
