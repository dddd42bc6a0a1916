#include "cli/connection.hpp"

#include <charconv>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/configuration.hpp"
#include "daemon/text/characters.hpp"
#include "daemon/text/token.hpp"
#include "daemon/wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::string_view kDefaultServer = "http://127.0.0.1:8000";

// A variable that is set and empty counts as not set. It gets a warning, because a value may have
// been lost on the way (GPUCTL_TOKEN="$TOKEN").
void take_environment(std::string& target, const char* name) {
    if (!target.empty()) return;
    const std::optional<std::string> value = environment_or_nothing(name);
    if (!value) return;
    if (value->empty()) std::cerr << "gpuctl: " << name << " is set and empty; it is not used\n";
    target = *value;
}

Error bad_value(const std::string& what, const std::string& problem) {
    return make_error(ErrorCode::InvalidConfiguration, "use " + what + ": it " + problem);
}

Result<text::Url> server_of(const ConnectionOptions& options) {
    Result<text::Url> url = text::parse_url(options.server);
    if (url) return url;
    return make_error(ErrorCode::InvalidConfiguration,
                      "use the server \"" + text::shown_address(options.server) + "\": it " +
                          url.error().message +
                          "; a server is written http://HOST:PORT or https://HOST:PORT, with a "
                          "path behind it where a reverse proxy wants one");
}

Result<net::HttpClientSettings> settings_for(const ConnectionOptions& options,
                                             const text::Url& server) {
    net::HttpClientSettings settings;
    settings.tls.enabled = server.is_https;
    settings.host = server.host;
    settings.port = server.port;
    settings.in_flight_max = 4;
    settings.connect_timeout = std::min(options.timeout, std::chrono::seconds{10});
    settings.tls.insecure_skip_verify = options.insecure_skip_verify;
    if (options.certificate_file.empty() != options.key_file.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "connect to " + options.server + ": a client certificate is shown with " +
                              "its key: give both --certificate-file and --key-file");
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

bool mentions(const Error& error, std::string_view words) {
    return error.message.find(words) != std::string::npos;
}

// The server did not take who we say we are; TLS 1.3 tells so in place of the first answer.
bool is_about_our_certificate(const Error& error) {
    return mentions(error, "alert certificate required") || mentions(error, "alert unknown ca") ||
           mentions(error, "alert bad certificate") || mentions(error, "alert certificate expired");
}

// What to do about a connection that TLS ended; the words are OpenSSL's.
std::string tls_hint(const Error& error) {
    if (mentions(error, "alert certificate required")) {
        return "it wants to know who asks: show your certificate with --certificate-file and "
               "--key-file (or GPUCTL_CERTIFICATE_FILE and GPUCTL_KEY_FILE)";
    }
    if (is_about_our_certificate(error)) {
        return "it does not accept the certificate of --certificate-file: its "
               "server.tls.clientCaFile says whose it takes";
    }
    if (mentions(error, "key values mismatch")) {
        return "--key-file is not the key of --certificate-file";
    }
    if (mentions(error, "mismatch")) {
        return "its certificate is for other names than the one in --server: use one of those";
    }
    if (mentions(error, "self-signed") || mentions(error, "local issuer") ||
        mentions(error, "first certificate")) {
        return "nobody this machine trusts signed its certificate: give the authority's with "
               "--ca-file (or GPUCTL_CA_FILE)";
    }
    if (mentions(error, "expired") || mentions(error, "not yet valid")) {
        return "compare its certificate's dates with this machine's clock";
    }
    return "does this port serve TLS? a gpuctld without it is reached with http://";
}

// A server that could not be asked, in the words of who asked. Reading changes nothing, so an
// answer that did not come is no unknown outcome there.
Error in_users_words(Error error, const text::Url& server, std::string_view method) {
    const bool reads = method == "GET";
    std::string hint = "is it running (./tools/quickstart starts one), and is --server right?";
    if (!server.is_https && server.port == 80) {
        hint += " Without a port it is 80; gpuctld itself listens on 8000";
    }
    if (is_about_our_certificate(error)) {
        error.code = ErrorCode::TlsFailed;
        hint = tls_hint(error);
    } else if (error.code == ErrorCode::TlsFailed && !mentions(error, "not done in time")) {
        hint = tls_hint(error);
    } else if (error.code == ErrorCode::TlsFailed) {
        error.code = ErrorCode::Unreachable;
    } else if (error.code == ErrorCode::UnknownOutcome && reads) {
        error.code = ErrorCode::Unreachable;
        hint = "it took the request and did not answer it";
        if (mentions(error, "connection closed") && !server.is_https) {
            hint += "; if it serves TLS, --server must begin with https://";
        }
    } else if (error.code != ErrorCode::Unreachable) {
        return error;
    }
    error.message = "reach gpuctld at " + to_string(server) + ": " + error.message + "; " + hint;
    return error;
}

// Nothing is sent to where an answer points: the token is for the server that was named.
Error redirected(const text::Url& server, int status, std::string_view target) {
    return make_error(ErrorCode::ProtocolError,
                      "read the answer of " + to_string(server) + ": HTTP " +
                          std::to_string(status) + " points to " + text::shown_address(target) +
                          ", which is not followed; if gpuctld is there, name it in --server");
}

// A refused upgrade is an Error that ends with the server's answer (websocket.hpp): told like that
// of any other request.
Error told_refusal(Error error, const text::Url& server) {
    constexpr std::string_view opening = "upgrade refused with ";
    const std::size_t at = error.message.find(opening);
    if (at == std::string::npos) return error;
    const std::string_view answer = std::string_view{error.message}.substr(at + opening.size());
    int status = 0;
    const char* end = answer.data() + answer.size();
    const auto [rest, problem] = std::from_chars(answer.data(), end, status);
    const std::size_t body = answer.find(": ");
    if (problem != std::errc{} || body == answer.npos) return error;
    if (status / 100 == 3) return redirected(server, status, answer.substr(body + 2));
    return wire::error_from_response(status, "", answer.substr(body + 2));
}

}  // namespace

Result<ConnectionOptions> resolve(ConnectionOptions options) {
    // A server named by itself is no context's: the file's token is not for it, and a fault in the
    // file is no reason not to reach it.
    const bool has_server = !options.server.empty();
    const bool has_context = !options.context.empty();
    if (!has_context) take_environment(options.server, "GPUCTL_SERVER");
    if (!has_server) take_environment(options.context, "GPUCTL_CONTEXT");
    const std::string token_source = options.token.empty() ? "GPUCTL_TOKEN" : "--token";
    take_environment(options.token, "GPUCTL_TOKEN");
    if (!options.token.empty()) {
        const std::string problem = text::problem_with_token(options.token);
        if (!problem.empty()) return bad_value(token_source, problem);
    }
    take_environment(options.ca_file, "GPUCTL_CA_FILE");
    take_environment(options.certificate_file, "GPUCTL_CERTIFICATE_FILE");
    take_environment(options.key_file, "GPUCTL_KEY_FILE");
    if (!options.is_every_namespace) take_environment(options.namespace_name, "DEFAULT_NAMESPACE");
    for (const auto& [what, value] : {std::pair{"GPUCTL_CONTEXT", &options.context},
                                      {"DEFAULT_NAMESPACE", &options.namespace_name}}) {
        const std::string problem = text::problem_with_invisible(*value);  // flags are checked
        if (!problem.empty()) return bad_value(what, problem);
    }
    if (options.server.empty() || !options.context.empty()) {
        if (Result<void> applied = apply_context(options); !applied) return applied.error();
    }
    if (has_context) take_environment(options.server, "GPUCTL_SERVER");
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
    if (!response) co_return in_users_words(response.error(), server_, method);
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
    Result<std::unique_ptr<net::WebSocket>> socket = co_await net::connect_websocket(
        loop_, settings_, std::move(upgrade), net::WebSocketSettings{}, deadline);
    if (!socket) co_return in_users_words(told_refusal(socket.error(), server_), server_, "GET");
    co_return std::move(*socket);
}

std::string query(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
    std::string text;
    for (const auto& [name, value] : pairs) {
        if (value.empty()) continue;
        text += text.empty() ? '?' : '&';
        text += std::string{name} + "=" + net::percent_encode(value);
    }
    return text;
}

}  // namespace gpuctl::cli
