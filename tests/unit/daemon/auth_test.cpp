#include "daemon/api/http/auth.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/api/http/routes.hpp"
#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl::api {
namespace {

const std::map<Role, std::string> kTokens{{Role::viewer, "viewer-token-0123456789"},
                                          {Role::user, "user-token-0123456789"},
                                          {Role::operator_, "operator-token-0123456789"},
                                          {Role::admin, "admin-token-0123456789"}};

std::string write_tokens(const TempDir& directory, const std::string& text, mode_t mode = 0600) {
    std::string path = directory.path() + "/tokens";
    std::ofstream{path} << text;
    ::chmod(path.c_str(), mode);
    return path;
}

std::string all_tokens() {
    std::string text = "# token role name\n\n";
    for (const auto& [role, token] : kTokens) {
        text += token + " " + std::string{to_string(role)} + " some-" +
                std::string{to_string(role)} + "\n";
    }
    return text;
}

TEST(TokenStore, without_a_file_every_client_is_admin) {
    const TokenStore store;
    const Result<Identity> caller = store.identify("");
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->role, Role::admin);
}

TEST(TokenStore, knows_each_token_and_no_other) {
    const TempDir directory;
    TokenStore store;
    ASSERT_TRUE(store.load(write_tokens(directory, all_tokens())));
    for (const auto& [role, token] : kTokens) {
        const Result<Identity> caller = store.identify("Bearer " + token);
        ASSERT_TRUE(caller);
        EXPECT_EQ(caller->role, role);
        EXPECT_EQ(caller->name, "some-" + std::string{to_string(role)});
        EXPECT_FALSE(store.identify("Bearer " + token + "x"));
        EXPECT_FALSE(store.identify("Bearer " + token.substr(1)));
        EXPECT_FALSE(store.identify("Basic " + token));
        EXPECT_FALSE(store.identify(token));
    }
    EXPECT_FALSE(store.identify(""));
    EXPECT_FALSE(store.identify("Bearer "));
    EXPECT_FALSE(store.identify("Bearer " + std::string(100'000, 'x')));
}

TEST(TokenStore, a_bad_file_is_refused_with_its_line_and_the_old_tokens_stay) {
    const TempDir directory;
    TokenStore store;
    ASSERT_TRUE(store.load(write_tokens(directory, all_tokens())));
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "no token"},
        {"short viewer a\n", ":1"},
        {"\n0123456789abcdef king a\n", ":2"},
        {"0123456789abcdef viewer\n", ":1"},
        {"0123456789abcdef viewer a b\n", ":1"},
        {"0123456789abcdef viewer a\n0123456789abcdef admin b\n", ":2"}};
    for (const auto& [text, expected] : cases) {
        const Result<void> loaded = store.load(write_tokens(directory, text));
        ASSERT_FALSE(loaded) << text;
        EXPECT_NE(loaded.error().message.find(expected), std::string::npos)
            << loaded.error().message;
        EXPECT_EQ(loaded.error().message.find("0123456789abcdef"), std::string::npos)
            << "a token is never repeated";
    }
    EXPECT_FALSE(store.load(write_tokens(directory, all_tokens(), 0644)));
    EXPECT_FALSE(store.load(directory.path() + "/absent"));
    EXPECT_TRUE(store.identify("Bearer " + kTokens.at(Role::viewer)));
}

aio::Task<void> ask_everything(Daemon& daemon) {
    for (const Route& route : routes()) {
        std::string target;
        for (const char c : route.pattern) {
            if (c != '{' && c != '}') target += c;
        }
        const std::string verb{route.verb};
        SCOPED_TRACE(verb + " " + target);
        net::HttpResponse bare = co_await daemon.call(verb, target, "", "");
        EXPECT_EQ(bare.status == 401, route.role != Role::anonymous);
        if (bare.status == 401) {
            EXPECT_EQ(error_code(bare), "Unauthorized");
            EXPECT_TRUE(bare.fields.has("WWW-Authenticate"));
        }
        net::HttpResponse wrong =
            co_await daemon.call(verb, target, "", "", "wrong-token-0123456789");
        EXPECT_EQ(wrong.status == 401, route.role != Role::anonymous);
        for (const auto& [role, token] : kTokens) {
            net::HttpResponse response = co_await daemon.call(verb, target, "", "", token);
            SCOPED_TRACE(to_string(role));
            EXPECT_NE(response.status, 401);
            EXPECT_EQ(response.status == 403, role < route.role) << response.body;
            if (response.status != 403) continue;
            const std::string name{to_string(role)};
            EXPECT_EQ(parsed(response)["message"],
                      verb + " " + std::string{route.pattern} + " needs the role " +
                          std::string{to_string(route.role)} + "; the token of some-" + name +
                          " has the role " + name +
                          ". Roles are set in the file server.tokensFile of gpuctld; ask its "
                          "operator");
        }
    }
}

TEST(Authorization, every_route_admits_exactly_its_role_and_those_above) {
    const TempDir directory;
    config::Config config = quick_config(directory.path() + "/state");
    config.server.tokens_file = write_tokens(directory, all_tokens());
    Daemon{config}.run(ask_everything);
}

aio::Task<void> ask_metrics(Daemon& daemon) {
    net::HttpResponse bare = co_await daemon.get("/metrics");
    EXPECT_EQ(bare.status, 401);
    net::HttpResponse allowed = co_await daemon.get("/metrics", kTokens.at(Role::viewer));
    EXPECT_EQ(allowed.status, 200);
}

TEST(Authorization, metrics_require_a_token_when_configured) {
    const TempDir directory;
    config::Config config = quick_config(directory.path() + "/state");
    config.server.tokens_file = write_tokens(directory, all_tokens());
    config.server.metrics_need_token = true;
    Daemon{config}.run(ask_metrics);
}

}  // namespace
}  // namespace gpuctl::api
