// exec, attach and portforward of a pod, each over a WebSocket (docs/sessions.md).

#include <charconv>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/logs/log_targets.hpp"
#include "daemon/api/sessions/session_relay.hpp"
#include "daemon/api/sessions/session_table.hpp"
#include "daemon/diagnostics/log.hpp"
#include "wire/session_frames.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kCommandWordsMax = 256;
constexpr std::chrono::seconds kOpenSession{30};

ports::SessionKind kind_of(const Call& call) {
    const std::string& last = call.target.segments.back();
    if (last == "exec") return ports::SessionKind::exec;
    return last == "attach" ? ports::SessionKind::attach : ports::SessionKind::port_forward;
}

Result<std::uint16_t> port_of(const Call& call) {
    const std::string_view text = call.query("port");
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error == std::errc{} && end == text.data() + text.size() && port > 0) return port;
    return make_error(ErrorCode::BadRequest,
                      "read port=" + std::string{text} + ": must be a port from 1 to 65535");
}

Result<ports::SessionRequest> read_session(const Call& call) {
    ports::SessionRequest request;
    request.kind = kind_of(call);
    request.container = call.query("container");
    if (request.kind == ports::SessionKind::port_forward) {
        Result<std::uint16_t> port = port_of(call);
        if (!port) return port.error();
        request.port = *port;
        return request;
    }
    const Result<bool> input = flag_of(call, "stdin");
    if (!input) return input.error();
    const Result<bool> terminal = flag_of(call, "tty");
    if (!terminal) return terminal.error();
    request.has_input = *input;
    request.has_terminal = *terminal;
    for (const auto& [name, value] : call.target.query) {
        if (name == "command") request.command.push_back(value);
    }
    if (request.kind == ports::SessionKind::exec && request.command.empty()) {
        return make_error(ErrorCode::BadRequest,
                          "command is missing: give each word of it as command=WORD");
    }
    if (request.command.size() > kCommandWordsMax) {
        return make_error(ErrorCode::BadRequest,
                          "the command has " + std::to_string(request.command.size()) +
                              " words; at most " + std::to_string(kCommandWordsMax));
    }
    return request;
}

// Not the leader, or stopping: what a session does in a pod is a change.
std::optional<Error> must_end(const Services& services) {
    if (services.stopping) {
        return make_error(ErrorCode::ShuttingDown, "the session was ended: gpuctld is stopping");
    }
    if (std::optional<Error> refused = services.engine.refusal()) {
        return while_doing("the session was ended", with_cause(services, *refused));
    }
    return std::nullopt;
}

// With the pod that it is about.
Result<ports::SessionRequest> find_session(Services& services, const Call& call) {
    Result<ports::SessionRequest> request = read_session(call);
    if (!request) return request;
    LogQuery query;
    query.pod = call.query("pod");
    Result<std::vector<LogTarget>> targets = find_targets(services, call, query);
    if (!targets) return targets.error();
    const std::string& name = call.parameters.at(0);
    if (targets->empty()) {
        return make_error(ErrorCode::Conflict, "open a session with " + name +
                                                   ": it has no pod yet; `gpuctl explain job " +
                                                   name + "` says what it waits for");
    }
    const LogTarget& target = targets->front();
    if (!target.readable) {
        return make_error(ErrorCode::Conflict, "open a session with pod " +
                                                   to_string(target.log.pod) +
                                                   ": it does not run yet: " + target.waiting_for);
    }
    if (!services.engine.history().pod_runs(target.log.uid)) {
        return make_error(ErrorCode::Conflict,
                          "open a session with pod " + to_string(target.log.pod) +
                              ": it has ended; only a running pod has processes");
    }
    request->pod = target.log.pod;
    request->uid = target.log.uid;
    return request;
}

// What the cluster answers to the request for a session. It may outlive the request, which does not
// wait for a node that never answers when gpuctld stops.
struct Opening {
    explicit Opening(aio::Loop& loop) : answered(loop) {}
    aio::Signal answered;
    std::optional<Result<std::unique_ptr<ports::SessionStream>>> stream;
};

aio::Task<void> open_in_cluster(ports::SessionSource& source, ports::SessionRequest request,
                                std::shared_ptr<Opening> opening) {
    const aio::Deadline deadline = aio::Deadline::in(kOpenSession);
    Result<std::unique_ptr<ports::SessionStream>> stream =
        co_await source.open(std::move(request), deadline);
    opening->stream.emplace(std::move(stream));
    opening->answered.notify_all();
}

struct NotOpened {
    SessionFailure failure;
    Error why;
};

// Until the cluster has answered, or gpuctld must end all sessions.
aio::Task<std::optional<NotOpened>> await_opening(Services& services,
                                                  std::shared_ptr<Opening> opening) {
    while (!opening->stream) {
        if (std::optional<Error> ends = must_end(services)) {
            co_return NotOpened{SessionFailure::stopped, std::move(*ends)};
        }
        const aio::Deadline slice = aio::Deadline::in(services.sessions->limits().look_up);
        const bool notified = co_await opening->answered.wait(slice);
        const bool is_cancelled = !notified && !slice.passed();
        if (is_cancelled && !opening->stream) {
            co_return NotOpened{
                SessionFailure::stopped,
                make_error(ErrorCode::ShuttingDown, "the session was ended: gpuctld is stopping")};
        }
    }
    if (*opening->stream) co_return std::nullopt;
    co_return NotOpened{SessionFailure::not_opened, opening->stream->error()};
}

aio::Task<void> refuse_session(std::shared_ptr<net::WebSocket> socket, Error why) {
    std::string frame =
        wire::session_frame(wire::SessionChannel::outcome, wire::session_outcome_json(why));
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{2});
    Result<void> written = co_await socket->write_bytes(std::move(frame), deadline);
    std::string nothing;
    if (written) co_await socket->close(net::CloseCode::normal, std::move(nothing), deadline);
}

}  // namespace

namespace {

Result<void> may_open(Services& services, const Call& call, SessionFailure& failure) {
    failure = SessionFailure::refused;
    if (services.cluster.sessions() == nullptr) {
        return make_error(ErrorCode::NotSupportedHere,
                          "exec, attach, cp and port-forward are not available here: the pods of "
                          "the embedded cluster are simulated and run no processes. Use a gpuctld "
                          "with cluster.mode kubernetes");
    }
    if (std::optional<Error> refused = services.engine.refusal()) {
        return with_cause(services, *refused);
    }
    if (services.stopping) return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    Result<ports::SessionRequest> request = find_session(services, call);
    if (!request) return request.error();
    failure = SessionFailure::limit;
    std::optional<Error> full =
        services.sessions->refusal(call.caller.name, to_string(request->pod));
    if (full) return *full;
    return {};
}

}  // namespace

Result<void> admit_session(Services& services, const Call& call) {
    SessionFailure failure = SessionFailure::refused;
    Result<void> may = may_open(services, call, failure);
    if (!may) services.sessions->count_failed(kind_of(call), failure);
    return may;
}

aio::Task<void> serve_session(Services& services, Call call,
                              std::unique_ptr<net::WebSocket> socket) {
    const ports::SessionKind kind = kind_of(call);
    SessionTable& table = *services.sessions;
    const std::shared_ptr<net::WebSocket> client = std::move(socket);
    // Again: other sessions were admitted while the connection was upgraded.
    Result<void> admitted = admit_session(services, call);
    Result<ports::SessionRequest> request = find_session(services, call);
    if (!admitted || !request) {
        Error why = admitted ? request.error() : admitted.error();
        co_await refuse_session(client, std::move(why));
        co_return;
    }
    const SessionTable::Open counted{table, kind, call.caller.name};
    const std::string pod = to_string(request->pod);
    log::info("session opens", {{"route", call.target.segments.back()},
                                {"pod", pod},
                                {"by", call.caller.name},
                                {"request_id", call.request_id}});
    const auto opening = std::make_shared<Opening>(services.loop);
    ports::SessionSource& source = *services.cluster.sessions();
    services.tasks.spawn("opening of a session",
                         open_in_cluster(source, std::move(*request), opening));
    std::optional<NotOpened> failed = co_await await_opening(services, opening);
    if (failed) {
        table.count_failed(kind, failed->failure);
        log::info("session did not open",
                  {{"pod", pod}, {"request_id", call.request_id}, {"err", failed->why.message}});
        co_await refuse_session(client, std::move(failed->why));
        co_return;
    }
    table.count_opened(kind);
    std::shared_ptr<ports::SessionStream> open = std::move(**opening->stream);
    MustEnd ends = [&services] { return must_end(services); };
    const SessionLimits limits = table.limits();
    const std::optional<SessionFailure> failure = co_await relay_session(
        services.tasks, client, std::move(open), limits, std::move(ends), table.traffic());
    if (failure) table.count_failed(kind, *failure);
    const std::string_view end =
        failure ? kSessionFailureNames[static_cast<std::size_t>(*failure)] : "done";
    log::info("session ended", {{"pod", pod}, {"end", end}, {"request_id", call.request_id}});
}

aio::Task<net::HttpResponse> sessions_need_websocket(Services& services, Call call) {
    // First what the header would not help.
    Result<void> admitted = admit_session(services, call);
    if (!admitted) co_return problem_reply(admitted.error(), call);
    net::HttpResponse response = co_await logs_need_websocket(services, std::move(call));
    co_return response;
}

}  // namespace gpuctl::api
