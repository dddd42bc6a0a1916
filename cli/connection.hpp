#pragma once
// Which gpuctld to use, with which credentials, and one request to it.
//
// Flags win over GPUCTL_* environment variables, those over the context of the user's configuration
// file (cli/configuration.hpp), that over http://127.0.0.1:8000. With a server but no context
// given, the file is not read.

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aio/loop.hpp"
#include "net/http/http_client.hpp"
#include "net/websocket/websocket.hpp"
#include "scheduler/base/result.hpp"
#include "text/url.hpp"

namespace gpuctl::cli {

struct ConnectionOptions {
    std::string server;       // http://host:port/path or https://host:port/path
    std::string context;      // of the configuration file
    std::string config_file;  // of --config; empty: the usual one
    std::string token;
    std::string ca_file;
    std::string certificate_file;  // client certificate, for a server with server.tls.clientCaFile
    std::string key_file;
    bool insecure_skip_verify = false;
    std::string namespace_name;       // -n
    bool is_every_namespace = false;  // -A: ignores the namespace of context and environment
    // More than expert.server.requestTimeout, so that the server's error about a slow request
    // arrives.
    std::chrono::seconds timeout{35};
};

// `options` with every unset option filled in.
Result<ConnectionOptions> resolve(ConnectionOptions options);

struct Reply {
    int status = 0;
    nlohmann::json body;
};

class Connection {
public:
    // `options` as resolve() returned them.
    static Result<std::unique_ptr<Connection>> open(aio::Loop& loop, ConnectionOptions options);

    // An error status becomes an Error with the server's code, message and details.
    aio::Task<Result<Reply>> call(std::string method, std::string target, std::string body,
                                  std::string content_type);
    aio::Task<Result<Reply>> get(std::string target);
    // The answer unchanged, whatever its status.
    aio::Task<Result<net::HttpResponse>> exchange(std::string method, std::string target,
                                                  std::string body, std::string content_type);
    // The Error of such an answer.
    [[nodiscard]] Result<Reply> read_answer(const net::HttpResponse& response) const;
    aio::Task<Result<std::unique_ptr<net::WebSocket>>> open_websocket(std::string target);

    [[nodiscard]] const ConnectionOptions& options() const { return options_; }
    void use_namespace(std::string name) { options_.namespace_name = std::move(name); }
    [[nodiscard]] aio::Loop& loop() { return loop_; }

private:
    Connection(aio::Loop& loop, ConnectionOptions options, text::Url server,
               net::HttpClientSettings settings);
    // With the server's base path before `target`, and the token.
    [[nodiscard]] net::HttpRequest make_request(std::string method,
                                                const std::string& target) const;

    aio::Loop& loop_;
    ConnectionOptions options_;
    text::Url server_;
    net::HttpClientSettings settings_;
    net::HttpClient client_;
};

// "?namespace=team-a&pool=x" from pairs; empty values are left out.
std::string query(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);
std::string query(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace gpuctl::cli
