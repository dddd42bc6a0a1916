// Pod logs: once over HTTP, followed over a WebSocket.

#include <charconv>
#include <deque>
#include <nlohmann/json.hpp>

#include "daemon/api/handlers.hpp"
#include "daemon/api/reply.hpp"
#include "daemon/api/shapes.hpp"
#include "daemon/wire/log_limits.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kPodsFollowedMax = 64;
constexpr std::size_t kLinesPerTurn = 256;
constexpr std::chrono::seconds kWriteDeadline{30};
constexpr std::chrono::seconds kStatusPeriod{10};
constexpr std::chrono::milliseconds kStatusPause{250};

struct LogTarget {
    ports::LogRequest log;
    bool readable = false;    // its container has started
    std::string waiting_for;  // why not
};

struct LogQuery {
    std::int64_t tail = 100;
    bool all = false;
    std::string pod;
    std::vector<logs::Token> since;
};

Result<LogQuery> read_query(const Call& call) {
    LogQuery query;
    if (const std::string_view tail = call.query("tail"); !tail.empty()) {
        const char* end = tail.data() + tail.size();
        const auto [at, error] = std::from_chars(tail.data(), end, query.tail);
        if (error != std::errc{} || at != end || query.tail < 0 || query.tail > wire::kLogTailMax) {
            return make_error(ErrorCode::BadRequest, "read tail=" + std::string{tail} +
                                                         ": must be from 0 to " +
                                                         std::to_string(wire::kLogTailMax));
        }
    }
    const Result<bool> all = flag_of(call, "all");
    if (!all) return all.error();
    query.all = *all;
    query.pod = call.query("pod");
    if (query.all && !query.pod.empty()) {
        return make_error(ErrorCode::BadRequest, "give either pod=NAME or all=true, not both");
    }
    const std::optional<std::vector<logs::Token>> since = logs::parse_tokens(call.query("since"));
    if (!since || since->size() > kPodsFollowedMax) {
        return make_error(ErrorCode::BadRequest,
                          "read since: it is the `position` of a log frame, unchanged");
    }
    query.since = *since;
    return query;
}

LogTarget target_of(const JobView& job, const PodView& pod) {
    LogTarget target;
    target.log.pod = pod.facts.key;
    target.log.uid = pod.facts.uid;
    target.readable = pod.facts.phase != PodPhase::pending;
    if (target.readable) return target;
    const std::string status = pod_status(pod);
    target.waiting_for = pod.node.empty() && job.waiting
                             ? "Pending: " + job.waiting->sentence
                             : status + (pod.node.empty() ? "" : ": on node " + pod.node);
    return target;
}

// Which pods of the job are meant: the named one, all, or the first that has something to say
// (lowest rank among the running, else among those that ran, else the first).
Result<std::vector<LogTarget>> targets_of(const JobView& job, const Call& call,
                                          const LogQuery& query) {
    std::vector<LogTarget> targets;
    const std::string& id = call.parameters.at(0);
    const std::string wanted = !query.pod.empty() ? query.pod : (id != job.key.name ? id : "");
    const PodView* best = nullptr;
    for (const PodView& pod : job.pods) {
        if (query.all) {
            targets.push_back(target_of(job, pod));
        } else if (!wanted.empty()) {
            if (pod.facts.key.name == wanted) targets.push_back(target_of(job, pod));
        } else if (best == nullptr || (best->facts.phase != PodPhase::running &&
                                       (pod.facts.phase == PodPhase::running ||
                                        (best->facts.phase == PodPhase::pending &&
                                         pod.facts.phase != PodPhase::pending)))) {
            best = &pod;
        }
    }
    if (best != nullptr) targets.push_back(target_of(job, *best));
    if (!query.pod.empty() && targets.empty()) {
        return make_error(ErrorCode::JobNotFound,
                          "job " + to_string(job.key) + " has no pod " + query.pod);
    }
    if (targets.size() > kPodsFollowedMax) {
        return make_error(ErrorCode::BadRequest,
                          "job " + to_string(job.key) + " has " + std::to_string(targets.size()) +
                              " pods; at most " + std::to_string(kPodsFollowedMax) +
                              " are followed together, choose one with pod=NAME");
    }
    return targets;
}

Result<std::vector<LogTarget>> find_targets(Services& services, const Call& call,
                                            const LogQuery& query) {
    const Result<JobView> job =
        find_job(services.engine.state(), call.query("namespace"), call.parameters.at(0));
    if (!job) return job.error();
    return targets_of(*job, call, query);
}

std::string frame_text(const Json& frame) {
    return frame.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json simple_frame(const char* type, const std::string& data, const std::string& pod) {
    Json frame;
    frame["type"] = type;
    frame["data"] = data;
    if (!pod.empty()) frame["pod"] = pod;
    return frame;
}

// A socket that is being written to by follow_logs() and read by watch_peer(), which only wants to
// know when the other side has gone. Whoever ends last frees it.
struct Session {
    Session(aio::Loop& loop, std::unique_ptr<net::WebSocket> s)
        : socket(std::move(s)), signal(std::make_shared<aio::Signal>(loop)) {}
    std::unique_ptr<net::WebSocket> socket;
    std::shared_ptr<aio::Signal> signal;
    bool peer_gone = false;

    aio::Task<bool> send(Json frame);
};

aio::Task<bool> Session::send(Json frame) {
    if (peer_gone) co_return false;
    const aio::Deadline deadline = aio::Deadline::in(kWriteDeadline);
    Result<void> written = co_await socket->write_text(frame_text(frame), deadline);
    if (!written) peer_gone = true;
    co_return !peer_gone;
}

aio::Task<void> watch_peer(std::shared_ptr<Session> session) {
    while (!session->peer_gone) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::hours{1});
        Result<std::optional<std::string>> message = co_await session->socket->read_text(deadline);
        const bool silent = !message && message.error().code == ErrorCode::Timeout;
        if (silent || (message && *message)) continue;  // what clients say is not for us
        session->peer_gone = true;
    }
    session->signal->notify_all();
}

// One followed pod within a session.
struct Followed {
    LogTarget target;
    std::unique_ptr<logs::Subscription> subscription;
    std::string token;  // of the last line sent
    bool ended = false;
};

struct Follower {
    Services& services;
    Call call;
    LogQuery query;
    std::shared_ptr<Session> session;
    std::vector<Followed> pods;
    std::uint64_t sequence = 0;
    std::string last_status;

    aio::Task<void> run();
    aio::Task<bool> wait_until_readable();
    aio::Task<bool> forward(Followed& followed);
    Result<void> subscribe(Followed& followed);
    [[nodiscard]] std::string position() const;
    [[nodiscard]] bool all_ended() const;
};

std::string Follower::position() const {
    std::string text;
    for (const Followed& followed : pods) {
        if (!followed.token.empty()) text += (text.empty() ? "" : ",") + followed.token;
    }
    return text;
}

bool Follower::all_ended() const {
    return std::all_of(pods.begin(), pods.end(), [](const Followed& pod) { return pod.ended; });
}

// Tells why there is nothing to read yet, whenever that changes, until there is; false: over.
aio::Task<bool> Follower::wait_until_readable() {
    while (!session->peer_gone && !services.stopping) {
        Result<std::vector<LogTarget>> targets = find_targets(services, call, query);
        if (!targets) {
            co_await session->send(simple_frame("error", targets.error().message, ""));
            co_return false;
        }
        const bool any_readable = std::any_of(targets->begin(), targets->end(),
                                              [](const auto& target) { return target.readable; });
        if (any_readable) {
            for (LogTarget& target : *targets) {
                if (!target.readable) continue;
                Followed followed;
                followed.target = std::move(target);
                pods.push_back(std::move(followed));
            }
            co_return true;
        }
        std::string status =
            targets->empty() ? "Pending: no pod exists yet" : targets->front().waiting_for;
        if (status != last_status) {
            last_status = status;
            const std::string pod = targets->empty() ? "" : targets->front().log.pod.name;
            const bool sent = co_await session->send(simple_frame("status", status, pod));
            if (!sent) co_return false;
        }
        const aio::Deadline look_again = aio::Deadline::in(kStatusPeriod);
        co_await services.engine.changed().wait(look_again);
        const aio::Deadline pause = aio::Deadline::in(kStatusPause);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) co_return false;
    }
    co_return false;
}

Result<void> Follower::subscribe(Followed& followed) {
    logs::SubscribeRequest request;
    request.log = followed.target.log;
    request.tail = query.tail;
    const std::string hash = logs::pod_hash(followed.target.log.uid);
    for (const logs::Token& token : query.since) {
        if (token.pod_hash == hash) request.after = token.position;
    }
    // A token of another pod: with one pod followed, that pod has been replaced.
    request.other_incarnation = !query.since.empty() && !request.after && pods.size() == 1;
    auto subscription = services.relay.subscribe(std::move(request), session->signal);
    if (!subscription) return subscription.error();
    followed.subscription = std::move(*subscription);
    return {};
}

// Sends what is there; false when the session is over.
aio::Task<bool> Follower::forward(Followed& followed) {
    logs::LogBatch batch = followed.subscription->take(kLinesPerTurn);
    const std::string pod = followed.subscription->pod_name();
    if (!batch.gap.empty()) {
        const bool sent = co_await session->send(simple_frame("gap", batch.gap, pod));
        if (!sent) co_return false;
    }
    if (batch.dropped > 0) {
        Json frame = simple_frame("dropped", "this reader was too slow", pod);
        frame["count"] = batch.dropped;
        const bool sent = co_await session->send(std::move(frame));
        if (!sent) co_return false;
    }
    for (logs::LogLine& line : batch.lines) {
        followed.token = logs::format_token(followed.subscription->pod_uid(), line.position);
        Json frame = simple_frame("log", line.text, pod);
        frame["seq"] = ++sequence;
        frame["time"] = line.time;
        frame["position"] = position();
        const bool sent = co_await session->send(std::move(frame));
        if (!sent) co_return false;
    }
    if (batch.failed) {
        const bool sent = co_await session->send(simple_frame("error", batch.failed->message, pod));
        if (!sent) co_return false;
    }
    followed.ended = batch.ended;
    co_return true;
}

aio::Task<void> Follower::run() {
    const bool readable = co_await wait_until_readable();
    if (!readable) co_return;
    for (Followed& followed : pods) {
        Result<void> subscribed = subscribe(followed);
        if (subscribed) continue;
        co_await session->send(simple_frame("error", subscribed.error().message, ""));
        const aio::Deadline deadline = aio::Deadline::in(kWriteDeadline);
        co_await session->socket->close(net::CloseCode::try_again_later, "too many readers",
                                        deadline);
        co_return;
    }
    while (!session->peer_gone && !services.stopping) {
        const std::uint64_t before = sequence;
        for (Followed& followed : pods) {
            if (followed.ended) continue;
            const bool sent = co_await forward(followed);
            if (!sent) co_return;
        }
        if (all_ended()) {
            co_await session->send(simple_frame("end", "", ""));
            co_return;
        }
        if (sequence != before) continue;  // there may be more
        const aio::Deadline deadline = aio::Deadline::in(kStatusPeriod);
        co_await session->signal->wait(deadline);
    }
}

}  // namespace

Result<void> admit_follow(Services& services, const Call& call) {
    const Result<LogQuery> query = read_query(call);
    if (!query) return query.error();
    const Result<std::vector<LogTarget>> targets = find_targets(services, call, *query);
    if (!targets) return targets.error();
    if (services.stopping) return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    if (!services.relay.has_room()) {
        return make_error(ErrorCode::TooManyRequests,
                          "too many readers of logs at the moment; try again later");
    }
    return {};
}

aio::Task<void> follow_logs(Services& services, Call call, std::unique_ptr<net::WebSocket> socket) {
    const auto session = std::make_shared<Session>(services.loop, std::move(socket));
    services.tasks.spawn("websocket reader", watch_peer(session));
    Result<LogQuery> query = read_query(call);
    if (query) {
        Follower follower{services, std::move(call), std::move(*query), session, {}, 0, {}};
        co_await follower.run();
    }
    const bool told = session->peer_gone;
    session->peer_gone = true;
    if (told) co_return;
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
        const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
        Result<std::vector<logs::LogLine>> lines =
            co_await services.relay.read_tail(std::move(request), deadline);
        if (!lines) co_return problem_reply(lines.error(), call);
        for (const logs::LogLine& line : *lines) {
            body["logs"].push_back(query->all ? "[" + pod + "] " + line.text : line.text);
            body["lastTimestamp"] = line.time;
        }
    }
    if (body["logs"].empty()) body["message"] = "the pod runs and has written nothing yet";
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
