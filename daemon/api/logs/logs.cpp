// Pod logs: read once over HTTP, or followed over a WebSocket.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/logs/log_follower.hpp"
#include "text/time.hpp"

namespace gpuctl::api {
namespace {

// Lines of the second in which the selection begins are read, too.
bool is_too_old(const logs::LogLine& line, const LogQuery& query) {
    if (query.not_before_ns == 0) return false;
    return logs::parse_stamp_ns(line.time).value_or(query.not_before_ns) < query.not_before_ns;
}

}  // namespace

Result<void> admit_follow(Services& services, const Call& call) {
    const Result<LogQuery> query = read_query(call);
    if (!query) return query.error();
    if (query->previous) {
        return make_error(ErrorCode::BadRequest,
                          "the log of a previous container has ended and is not followed: leave "
                          "out either follow or previous");
    }
    const Result<std::vector<LogTarget>> targets = find_targets(services, call, *query);
    if (!targets) return targets.error();
    if (services.stopping) return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    if (!services.relay.has_room()) {
        return make_error(ErrorCode::TooManyRequests, "too many readers of logs; retry later");
    }
    return {};
}

aio::Task<void> follow_logs(Services& services, Call call, std::unique_ptr<net::WebSocket> socket) {
    const auto session = std::make_shared<Session>(services.loop, std::move(socket));
    services.tasks.spawn("websocket reader", watch_peer(session));
    Result<LogQuery> query = read_query(call);
    if (query) {
        Follower follower{services, std::move(call), std::move(*query), session};
        co_await follower.run();
    }
    const bool was_gone = session->peer_gone;
    session->peer_gone = true;
    if (was_gone) co_return;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{2});
    const net::CloseCode code =
        services.stopping ? net::CloseCode::going_away : net::CloseCode::normal;
    co_await session->socket->close(code, services.stopping ? "gpuctld is stopping" : "", deadline);
}

aio::Task<net::HttpResponse> get_logs(Services& services, Call call) {
    const Result<bool> follow = flag_of(call, "follow");
    if (!follow) co_return problem_reply(follow.error(), call);
    if (*follow) {
        co_return problem_reply(
            make_error(ErrorCode::UseWebSocket,
                       "a log is followed over a WebSocket: open " +
                           call.request.target.substr(0, call.request.target.find('?')) +
                           "/ws instead"),
            call);
    }
    const Result<LogQuery> query = read_query(call);
    if (!query) co_return problem_reply(query.error(), call);
    Result<std::vector<LogTarget>> targets = find_targets(services, call, *query);
    if (!targets) co_return problem_reply(targets.error(), call);
    Json body;
    body["logs"] = Json::array();
    body["lastTimestamp"] = "";
    body["pod"] = targets->empty() ? "" : targets->front().log.pod.name;
    body["namespace"] = targets->empty() ? "" : targets->front().log.pod.namespace_name;
    const bool readable = std::any_of(targets->begin(), targets->end(),
                                      [](const LogTarget& target) { return target.readable; });
    if (!readable) {
        body["message"] =
            targets->empty() ? "Pending: no pod exists yet" : targets->front().waiting_for;
        co_return json_reply(200, body);
    }
    for (LogTarget& target : *targets) {
        if (!target.readable) continue;
        const std::string pod = target.log.pod.name;
        ports::LogRequest request = std::move(target.log);
        request.tail_lines = query->tail;
        request.previous = query->previous;
        if (query->not_before_ns > 0) {
            request.since_time = text::format_rfc3339(query->not_before_ns / 1'000'000'000);
        }
        const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
        Result<std::vector<logs::LogLine>> lines =
            co_await services.relay.read_tail(std::move(request), deadline);
        if (!lines) co_return problem_reply(lines.error(), call);
        for (const logs::LogLine& line : *lines) {
            if (is_too_old(line, *query)) continue;
            const std::string time = query->timestamps ? line.time + " " : "";
            body["logs"].push_back((query->all ? "[" + pod + "] " : "") + time + line.text);
            body["lastTimestamp"] = line.time;
        }
    }
    if (body["logs"].empty())
        body["message"] = query->not_before_ns > 0 ? "the pod has written nothing in that time"
                                                   : "the pod runs and has written nothing yet";
    co_return json_reply(200, body);
}

aio::Task<net::HttpResponse> logs_need_websocket(Services&, Call call) {
    net::HttpResponse response =
        problem_reply(make_error(ErrorCode::UseWebSocket,
                                 "this address speaks WebSocket: send an Upgrade header"),
                      call);
    co_return response;
}

}  // namespace gpuctl::api
