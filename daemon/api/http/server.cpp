#include "daemon/api/http/server.hpp"

#include <algorithm>
#include <array>

#include "aio/entropy.hpp"
#include "aio/turn.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/diagnostics/log.hpp"
#include "scheduler/base/rng.hpp"
#include "text/characters.hpp"
#include "text/hex.hpp"
#include "text/url.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kRequestIdBytesMax = 64;
constexpr std::size_t kShownMax = 80;
constexpr std::string_view kNoRoute = "none";

bool is_id_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

// The client's own id, when it is valid in a log line; else a new one.
std::string request_id_of(const net::HttpRequest& request) {
    const std::string_view given = request.fields.get("X-Request-Id");
    if (!given.empty() && given.size() <= kRequestIdBytesMax &&
        std::all_of(given.begin(), given.end(), is_id_character)) {
        return std::string{given};
    }
    // Unique, which is all that is required. Only the loop's thread calls this.
    static Rng rng{aio::random_seed()};
    return text::hex16(rng.next());
}

std::string_view path_of(const net::HttpRequest& request) {
    const std::string_view target = request.target;
    return target.substr(0, target.find('?'));
}

// Verbs as a label: a closed set, whatever a client sends.
std::string_view verb_label(std::string_view verb) {
    constexpr std::string_view known[] = {"GET",    "POST", "PUT",    "PATCH",
                                          "DELETE", "HEAD", "OPTIONS"};
    const auto* found = std::find(std::begin(known), std::end(known), verb);
    return found == std::end(known) ? "other" : *found;
}

Error unknown_query(const Route& route, std::string_view name) {
    return make_error(ErrorCode::BadRequest,
                      "the query parameter \"" + std::string{name} +
                          "\" is not known for this address" +
                          (route.query.empty() ? "; there are none"
                                               : "; known are: " + std::string{route.query}));
}

// "*": any, for pages that keep their own state in the query.
bool knows_query(const Route& route, std::string_view name) {
    if (route.query == "*") return true;
    for (std::string_view rest = route.query; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (rest.substr(0, end) == name) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

// `?dryRun` is `?dryRun=true`, and `exclude` may be empty.
bool may_be_empty(std::string_view name) {
    constexpr std::string_view flags[] = {
        "strict",  "dryRun",   "force",     "all",       "follow",     "verbose",
        "exclude", "recreate", "overwrite", "previous",  "timestamps", "allSchedulers",
        "stdin",   "tty",      "command",   "removeOld", "asWritten"};
    return std::find(std::begin(flags), std::end(flags), name) != std::end(flags);
}

// Values read unchanged, as in a path.
std::optional<Error> bad_encoding(const net::HttpRequest& request) {
    const std::string_view coding = request.fields.get("Content-Encoding");
    if (coding.empty() || equal_without_case(coding, "identity")) return std::nullopt;
    return make_error(ErrorCode::UnsupportedMediaType,
                      "the body's Content-Encoding is \"" +
                          std::string{coding.substr(0, kShownMax)} +
                          "\"; send it without encoding");
}

// Handlers use these unchanged, in a path of the API server and in the journal.
std::optional<Error> bad_query(const Route& route, std::string_view name, std::string_view value) {
    if (!knows_query(route, name)) return unknown_query(route, name);
    if (value.empty() && !may_be_empty(name) && route.query != "*") {
        return make_error(ErrorCode::BadRequest,
                          "the query parameter \"" + std::string{name} +
                              "\" is empty; give it a value or leave it out");
    }
    // A word of a command may be a script of several lines; it is used in an address only.
    const std::string invisible = name == "command" ? "" : text::problem_with_invisible(value);
    if (!invisible.empty()) {
        return make_error(ErrorCode::BadRequest,
                          "the query parameter \"" + std::string{name} + "\" " + invisible);
    }
    if (name != "namespace") return std::nullopt;
    const std::string problem = wire::problem_with_label(value);
    if (problem.empty()) return std::nullopt;
    return make_error(ErrorCode::BadRequest,
                      "namespace \"" + std::string{value.substr(0, kShownMax)} + "\" " + problem);
}

Error lacks_role(const Call& call, const Route& route, Role needed) {
    return make_error(ErrorCode::Forbidden,
                      call.request.method + " " + std::string{route.pattern} + " needs the role " +
                          std::string{to_string(needed)} + "; the token of " + call.caller.name +
                          " has the role " + std::string{to_string(call.caller.role)} +
                          ". Roles are set in the file server.tokensFile of gpuctld; ask its "
                          "operator");
}

}  // namespace

// A page in a browser that resolves its name to 127.0.0.1 (DNS rebinding) still sends its own name
// as Host.
std::optional<Error> ApiServer::check_host(const net::HttpRequest& request) const {
    const std::string_view written = request.fields.get("Host");
    const Result<text::HostPort> parsed = text::parse_host_port(written);
    const text::HostPort host = parsed ? *parsed : text::HostPort{};
    const std::string_view origin = request.fields.get("Origin");
    if (!origin.empty()) {
        const Result<text::Url> page = text::parse_url(origin);  // "null" is none
        const bool is_ours =
            page && page->host == host.host && page->port == host.port.value_or(page->port);
        if (!is_ours) {
            return make_error(ErrorCode::Forbidden,
                              "requests from web pages of other origins are refused (Origin " +
                                  text::shown_address(origin) + ")");
        }
    }
    if (!services_.settings.loopback_only) return std::nullopt;
    for (const std::string_view known :
         {std::string_view{"localhost"}, std::string_view{"127.0.0.1"}, std::string_view{"::1"},
          std::string_view{services_.settings.address}}) {
        if (host.host == known) return std::nullopt;
    }
    return make_error(ErrorCode::Forbidden,
                      "the Host header names \"" + text::shown_address(written) +
                          "\"; this gpuctld answers only requests for localhost (DNS rebinding)");
}

ApiServer::Verdict ApiServer::admit(net::HttpRequest request) {
    Call call;
    call.request_id = request_id_of(request);
    call.target = net::parse_target(request.target);
    call.request = std::move(request);
    const auto refuse = [&](const Error& error, std::string_view label) {
        net::HttpResponse response = problem_reply(error, path_of(call.request), call.request_id);
        finish(response, call.request_id);
        return Refused{std::move(response), label};
    };
    if (call.target.malformed) {
        return refuse(make_error(ErrorCode::BadRequest, "the request's address cannot be read"),
                      kNoRoute);
    }
    if (std::optional<Error> foreign = check_host(call.request)) return refuse(*foreign, kNoRoute);
    for (const std::string& segment : call.target.segments) {
        const std::string invisible = text::problem_with_invisible(segment);
        if (invisible.empty()) continue;
        return refuse(
            make_error(ErrorCode::BadRequest, "a name in the request's address " + invisible),
            kNoRoute);
    }
    Match match = match_route(call.request.method, call.target.segments);
    if (!match.path_known) {
        return refuse(make_error(ErrorCode::NotFound,
                                 "there is nothing at " + std::string{path_of(call.request)}),
                      kNoRoute);
    }
    if (match.route == nullptr) {
        const std::string allow = allowed_verbs(call.target.segments);
        Refused refused =
            refuse(make_error(ErrorCode::MethodNotAllowed,
                              call.request.method + " is not allowed here; allowed: " + allow),
                   kNoRoute);
        refused.response.fields.set("Allow", allow);
        return refused;
    }
    const Route& route = *match.route;
    const bool open = route.role == Role::anonymous &&
                      !(route.pattern == "/metrics" && services_.settings.metrics_need_token);
    const Role needed = open || route.role != Role::anonymous ? route.role : Role::viewer;
    if (!open) {
        Result<Identity> caller =
            services_.tokens.identify(call.request.fields.get("Authorization"));
        if (!caller) return refuse(caller.error(), route.pattern);
        call.caller = std::move(*caller);
    }
    if (call.caller.role < needed) return refuse(lacks_role(call, route, needed), route.pattern);
    const auto& query = call.target.query;
    for (auto at = query.begin(); at != query.end(); ++at) {
        const auto& [name, value] = *at;
        if (const auto bad = bad_query(route, name, value)) return refuse(*bad, route.pattern);
        // `exclude` of /readyz and `command` of exec, as in Kubernetes; `nodeNames` of
        // labels/batch.
        const bool is_list = name == "exclude" || name == "command" || name == "nodeNames";
        const bool is_again = std::any_of(
            query.begin(), at, [&name = name](const auto& before) { return before.first == name; });
        if (is_again && !is_list) {
            return refuse(
                make_error(ErrorCode::BadRequest,
                           "the query parameter \"" + std::string{name} + "\" is given twice"),
                route.pattern);
        }
    }
    if (const auto coded = bad_encoding(call.request)) return refuse(*coded, route.pattern);
    call.parameters = std::move(match.parameters);
    return Admitted{&route, std::move(call)};
}

void ApiServer::finish(net::HttpResponse& response, std::string_view request_id) const {
    response.fields.set("X-Request-Id", std::string{request_id});
    response.fields.set("X-Content-Type-Options", "nosniff");
    if (!response.fields.has("Cache-Control")) response.fields.set("Cache-Control", "no-store");
    response.fields.set("Server", "gpuctld");
}

void ApiServer::count(std::string_view route, std::string_view verb, int status,
                      aio::Clock::time_point started) {
    // The label set is closed, and the cells stay at their addresses.
    const auto [known, is_new] = figures_.try_emplace({route, verb_label(verb), status});
    Figures& of = known->second;
    if (is_new) {
        of.requests = &services_.recorder.counter(
            metrics::Metric::http_requests,
            {std::string{route}, std::string{verb_label(verb)}, std::to_string(status)});
        of.duration =
            &services_.recorder.histogram(metrics::Metric::http_duration, {std::string{route}});
    }
    of.requests->add();
    const std::chrono::duration<double> took = aio::Clock::now() - started;
    of.duration->observe(took.count());
}

net::HeaderVerdict ApiServer::on_header(const net::HttpRequest& request) {
    // Without a body to refuse, reading continues; on_request() answers the same.
    if (!request.fields.has("Content-Length") && !request.fields.has("Transfer-Encoding")) {
        return {std::nullopt, 0};
    }
    const aio::Clock::time_point started = aio::Clock::now();
    Verdict verdict = admit(request);
    if (auto* refused = std::get_if<Refused>(&verdict)) {
        count(refused->route_label, request.method, refused->response.status, started);
        return {std::move(refused->response), 0};
    }
    const Route& route = *std::get<Admitted>(verdict).route;
    const std::size_t limit =
        route.body_bytes_max == 0
            ? 0
            : std::min(route.body_bytes_max, services_.settings.body_bytes_max);
    return {std::nullopt, limit};
}

aio::Task<net::HttpResponse> ApiServer::on_request(net::HttpRequest request) {
    const aio::Clock::time_point started = aio::Clock::now();
    const std::string verb = request.method;
    Verdict verdict = admit(std::move(request));
    if (auto* refused = std::get_if<Refused>(&verdict)) {
        count(refused->route_label, verb, refused->response.status, started);
        co_return std::move(refused->response);
    }
    Admitted& admitted = std::get<Admitted>(verdict);
    const Route& route = *admitted.route;
    const std::string request_id = admitted.call.request_id;
    std::string caller;  // for the log
    std::string path;
    if (verb != "GET") {
        caller = admitted.call.caller.name;
        path = path_of(admitted.call.request);
    }
    aio::Turn::mark(route.pattern);
    net::HttpResponse response;
    if (route.needs_starts && services_.engine.are_starts_old()) {
        co_await services_.engine.renewed_starts(
            aio::Deadline::in(services_.settings.request_timeout));
    }
    if (route.now != nullptr) {
        response = route.now(services_, admitted.call);
    } else {
        net::HttpResponse later = co_await route.later(services_, std::move(admitted.call));
        response = std::move(later);
    }
    finish(response, request_id);
    count(route.pattern, verb, response.status, started);
    if (verb != "GET") {
        log::info("request", {{"verb", verb},
                              {"path", path},
                              {"status", response.status},
                              {"by", caller},
                              {"request_id", request_id}});
    }
    co_return response;
}

aio::Task<std::optional<net::HttpResponse>> ApiServer::on_upgrade(net::HttpRequest request) {
    const aio::Clock::time_point started = aio::Clock::now();
    const std::string verb = request.method;
    Verdict verdict = admit(std::move(request));
    if (auto* refused = std::get_if<Refused>(&verdict)) {
        count(refused->route_label, verb, refused->response.status, started);
        co_return std::move(refused->response);
    }
    const Admitted& admitted = std::get<Admitted>(verdict);
    Result<void> allowed =
        admitted.route->admit == nullptr
            ? Result<void>{make_error(ErrorCode::BadRequest,
                                      "this address has no WebSocket; remove the Upgrade header")}
            : admitted.route->admit(services_, admitted.call);
    if (allowed) co_return std::nullopt;
    net::HttpResponse response = problem_reply(allowed.error(), admitted.call);
    finish(response, admitted.call.request_id);
    count(admitted.route->pattern, verb, response.status, started);
    co_return response;
}

aio::Task<void> ApiServer::on_websocket(net::HttpRequest request,
                                        std::unique_ptr<net::WebSocket> socket) {
    const aio::Clock::time_point started = aio::Clock::now();
    Verdict verdict = admit(std::move(request));
    // Admitted by on_upgrade just before; a token revoked since then is refused here.
    auto* admitted = std::get_if<Admitted>(&verdict);
    if (admitted == nullptr || admitted->route->socket == nullptr) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{2});
        co_await socket->close(net::CloseCode::policy, "no longer allowed", deadline);
        co_return;
    }
    const Route& route = *admitted->route;
    co_await route.socket(services_, std::move(admitted->call), std::move(socket));
    count(route.pattern, "GET", 101, started);
}

net::HttpResponse ApiServer::problem(int status, std::string code, std::string message) {
    ErrorCode known = status >= 500 ? ErrorCode::Internal : ErrorCode::BadRequest;
    for (std::size_t i = 0; i < kErrorCodeNames.size(); ++i) {
        if (kErrorCodeNames[i] == code) known = static_cast<ErrorCode>(i);
    }
    const std::string request_id = request_id_of({});
    net::HttpResponse response =
        problem_reply(make_error(known, std::move(message)), "", request_id);
    set_status(response, status);
    finish(response, request_id);
    count(kNoRoute, "other", status, aio::Clock::now());
    return response;
}

}  // namespace gpuctl::api
