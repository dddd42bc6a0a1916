#include "cli/connection.hpp"

#include <iostream>
#include <memory>
#include <utility>

#include "cli/configuration.hpp"
#include "text/characters.hpp"
#include "text/token.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::string_view kDefaultServer = "http://127.0.0.1:8000";

// An empty variable counts as not set, with a warning, because a value may have been lost on the
// way (GPUCTL_TOKEN="$TOKEN").
void fill_from_environment(std::string& target, const char* name) {
    if (!target.empty()) return;
    const std::optional<std::string> value = environment_or_nothing(name);
    if (!value) return;
    if (value->empty()) std::cerr << "gpuctl: " << name << " is set but empty, and is ignored\n";
    target = *value;
}

Error bad_value(const std::string& what, const std::string& problem) {
    return make_error(ErrorCode::InvalidConfiguration, what + " cannot be used: it " + problem);
}

Result<text::Url> server_of(const ConnectionOptions& options) {
    Result<text::Url> url = text::parse_url(options.server);
    if (url) return url;
    return make_error(ErrorCode::InvalidConfiguration,
                      "the server address \"" + text::shown_address(options.server) +
                          "\" cannot be used: it " + url.error().message +
                          "; a server is written http://HOST:PORT or https://HOST:PORT, with a "
                          "path after it if a reverse proxy needs one");
}

Result<net::HttpClientSettings> settings_for(const ConnectionOptions& options,
                                             const text::Url& server) {
    net::HttpClientSettings settings;
    settings.tls.enabled = server.is_https;
    settings.tls.problem = std::make_shared<net::TlsProblem>(net::TlsProblem::none);
    settings.host = server.host;
    settings.port = server.port;
    settings.in_flight_max = 4;
    settings.connect_timeout = std::min(options.timeout, std::chrono::seconds{10});
    settings.tls.insecure_skip_verify = options.insecure_skip_verify;
    if (options.certificate_file.empty() != options.key_file.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "connect to " + options.server +
                              ": a client certificate needs its "
                              "key: give both --certificate-file and --key-file");
    }
    for (const auto& [file, pem] : {std::pair{&options.ca_file, &settings.tls.ca_pem},
                                    {&options.certificate_file, &settings.tls.certificate_pem},
                                    {&options.key_file, &settings.tls.key_pem}}) {
        if (file->empty()) continue;
        Result<std::string> text = read_configured(*file);
        if (!text) return text.error();
        *pem = std::move(*text);
    }
    return settings;
}

// Advice for a connection that TLS ended.
std::string tls_hint(net::TlsProblem problem) {
    switch (problem) {
        case net::TlsProblem::certificate_required:
            return "it requires a client certificate: give --certificate-file and --key-file (or "
                   "GPUCTL_CERTIFICATE_FILE and GPUCTL_KEY_FILE)";
        case net::TlsProblem::certificate_refused:
            return "it does not accept the certificate of --certificate-file: use one signed by a "
                   "CA of its server.tls.clientCaFile";
        case net::TlsProblem::wrong_key:
            return "--key-file is not the key of --certificate-file";
        case net::TlsProblem::wrong_name:
            return "its certificate is for other names than the one in --server: use one of its "
                   "names";
        case net::TlsProblem::untrusted:
            return "its certificate is not signed by a CA that this machine trusts: give the CA's "
                   "certificate with --ca-file (or GPUCTL_CA_FILE)";
        case net::TlsProblem::out_of_date:
            return "compare its certificate's dates with this machine's clock";
        case net::TlsProblem::none:
        case net::TlsProblem::other:
            break;
    }
    return "does this port serve TLS? use http:// for a gpuctld without TLS";
}

// The server refused the client certificate; in TLS 1.3 this comes in place of the first answer.
bool is_about_our_certificate(net::TlsProblem problem) {
    return problem == net::TlsProblem::certificate_required ||
           problem == net::TlsProblem::certificate_refused;
}

// The error for a request without an answer. A read changes nothing, so a missing answer is no
// unknown outcome.
Error in_users_words(Error error, const text::Url& server, std::string_view method,
                     net::TlsProblem problem) {
    const bool reads = method == "GET";
    std::string hint = "is it running (./tools/quickstart starts one), and is --server correct?";
    if (!server.is_https && server.port == 80) {
        hint += " The default port of http:// is 80; gpuctld listens on 8000";
    }
    if (error.code == ErrorCode::TlsFailed || is_about_our_certificate(problem)) {
        error.code = ErrorCode::TlsFailed;
        hint = tls_hint(problem);
    } else if (error.code == ErrorCode::UnknownOutcome && reads) {
        error.code = ErrorCode::Unreachable;
        hint = "it accepted the request and did not answer";
        if (!server.is_https) hint += "; if it serves TLS, --server must begin with https://";
    } else if (error.code != ErrorCode::Unreachable) {
        return error;
    }
    error.message = "reach gpuctld at " + to_string(server) + ": " + error.message + "; " + hint;
    return error;
}

// Redirects are not followed: the token is for the configured server only.
Error redirected(const text::Url& server, int status, std::string_view target) {
    return make_error(
        ErrorCode::ProtocolError,
        "read the answer of " + to_string(server) + ": HTTP " + std::to_string(status) +
            " redirects to " + text::shown_address(target) +
            ", which is not followed; if gpuctld is there, use that address in --server");
}

}  // namespace

Result<ConnectionOptions> resolve(ConnectionOptions options) {
    // A server given by flag or variable belongs to no context: the file's token is not for it, and
    // an error in the file must not block it.
    const bool has_server = !options.server.empty();
    const bool has_context = !options.context.empty();
    if (!has_context) fill_from_environment(options.server, "GPUCTL_SERVER");
    if (!has_server) fill_from_environment(options.context, "GPUCTL_CONTEXT");
    const std::string token_source = options.token.empty() ? "GPUCTL_TOKEN" : "--token";
    fill_from_environment(options.token, "GPUCTL_TOKEN");
    if (!options.token.empty()) {
        const std::string problem = text::problem_with_token(options.token);
        if (!problem.empty()) return bad_value(token_source, problem);
    }
    fill_from_environment(options.ca_file, "GPUCTL_CA_FILE");
    fill_from_environment(options.certificate_file, "GPUCTL_CERTIFICATE_FILE");
    fill_from_environment(options.key_file, "GPUCTL_KEY_FILE");
    if (!options.is_every_namespace)
        fill_from_environment(options.namespace_name, "DEFAULT_NAMESPACE");
    for (const auto& [what, value] : {std::pair{"GPUCTL_CONTEXT", &options.context},
                                      {"DEFAULT_NAMESPACE", &options.namespace_name}}) {
        const std::string problem = text::problem_with_invisible(*value);  // flags are checked
        if (!problem.empty()) return bad_value(what, problem);
    }
    if (options.server.empty() || !options.context.empty()) {
        if (Result<void> applied = apply_context(options); !applied) return applied.error();
    }
    if (has_context) fill_from_environment(options.server, "GPUCTL_SERVER");
    if (options.server.empty()) options.server = kDefaultServer;
    return options;
}

Connection::Connection(aio::Loop& loop, ConnectionOptions options, text::Url server,
                       net::HttpClientSettings settings)
    : loop_(loop),
      options_(std::move(options)),
      server_(std::move(server)),
      settings_(settings),
      client_(loop, settings) {}

Result<std::unique_ptr<Connection>> Connection::open(aio::Loop& loop, ConnectionOptions options) {
    Result<text::Url> server = server_of(options);
    if (!server) return server.error();
    Result<net::HttpClientSettings> settings = settings_for(options, *server);
    if (!settings) return settings.error();
    return std::unique_ptr<Connection>{
        new Connection{loop, std::move(options), std::move(*server), std::move(*settings)}};
}

net::HttpRequest Connection::make_request(std::string method, const std::string& target) const {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = server_.base_path + target;
    request.fields.set("Accept", "application/json, application/problem+json");
    request.fields.set("User-Agent", "gpuctl");
    if (!options_.token.empty()) request.fields.set("Authorization", "Bearer " + options_.token);
    return request;
}

aio::Task<Result<net::HttpResponse>> Connection::exchange(std::string method, std::string target,
                                                          std::string body,
                                                          std::string content_type) {
    net::HttpRequest request = make_request(method, target);
    request.body = std::move(body);
    if (!content_type.empty()) request.fields.set("Content-Type", content_type);
    const aio::Deadline deadline = aio::Deadline::in(options_.timeout);
    Result<net::HttpResponse> response = co_await client_.request(std::move(request), deadline);
    if (!response) {
        co_return in_users_words(response.error(), server_, method, *settings_.tls.problem);
    }
    co_return std::move(*response);
}

Result<Reply> Connection::read_answer(const net::HttpResponse& response) const {
    const std::string elsewhere =
        net::redirect_target(response.status, response.fields.get("Location"));
    if (!elsewhere.empty()) return redirected(server_, response.status, elsewhere);
    if (response.status >= 400) {
        return wire::error_from_response(response.status, response.fields.get("Content-Type"),
                                         response.body);
    }
    Reply reply;
    reply.status = response.status;
    reply.body = nlohmann::json::parse(response.body, nullptr, false);
    if (reply.body.is_discarded()) {
        return make_error(ErrorCode::ProtocolError,
                          "read the answer of " + to_string(server_) +
                              ": it is not JSON; is that address really a gpuctld?");
    }
    return reply;
}

aio::Task<Result<Reply>> Connection::call(std::string method, std::string target, std::string body,
                                          std::string content_type) {
    Result<net::HttpResponse> response = co_await exchange(
        std::move(method), std::move(target), std::move(body), std::move(content_type));
    if (!response) co_return response.error();
    co_return read_answer(*response);
}

aio::Task<Result<Reply>> Connection::get(std::string target) {
    return call("GET", std::move(target), "", "");
}

aio::Task<Result<std::unique_ptr<net::WebSocket>>> Connection::open_websocket(std::string target) {
    net::HttpRequest upgrade = make_request("GET", target);
    const aio::Deadline deadline = aio::Deadline::in(options_.timeout);
    const auto refusal = std::make_shared<net::HttpResponse>();
    refusal->status = 0;
    Result<std::unique_ptr<net::WebSocket>> socket = co_await net::connect_websocket(
        loop_, settings_, std::move(upgrade), net::WebSocketSettings{}, deadline, refusal);
    if (socket) co_return std::move(*socket);
    // A refusal is reported like the answer to any other request.
    if (refusal->status != 0) {
        Result<Reply> answer = read_answer(*refusal);
        co_return answer ? socket.error() : answer.error();
    }
    co_return in_users_words(socket.error(), server_, "GET", *settings_.tls.problem);
}

namespace {

void add_parameter(std::string_view name, std::string_view value, std::string& text) {
    if (value.empty()) return;
    text += text.empty() ? '?' : '&';
    text += std::string{name} + "=" + net::percent_encode(value);
}

}  // namespace

std::string query(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
    std::string text;
    for (const auto& [name, value] : pairs) add_parameter(name, value, text);
    return text;
}

std::string query(const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::string text;
    for (const auto& [name, value] : pairs) add_parameter(name, value, text);
    return text;
}

}  // namespace gpuctl::cli
