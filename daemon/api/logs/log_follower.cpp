#include "daemon/api/logs/log_follower.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "aio/turn.hpp"
#include "daemon/api/http/reply.hpp"
#include "wire/log_limits.hpp"

namespace gpuctl::api {
namespace {

constexpr std::string_view kTurnWork = "logs";
constexpr std::size_t kLinesPerTurn = 256;
constexpr std::chrono::seconds kWriteDeadline{30};
constexpr std::chrono::seconds kStatusPeriod{10};
constexpr std::chrono::milliseconds kStatusPause{250};
constexpr std::chrono::milliseconds kPartialPause{250};  // per reader, over all its pods

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

}  // namespace

aio::Task<bool> Session::send(Json frame) {
    aio::Turn::mark(kTurnWork);
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
        if (silent || (message && *message)) continue;  // messages of clients are ignored
        session->peer_gone = true;
    }
    session->signal->notify_all();
}

// A job's pods change far more rarely than the engine runs: one check for all changes since the
// last one.
aio::Task<void> watch_pods(Services& services, std::shared_ptr<Session> session) {
    while (!session->peer_gone && !services.stopping) {
        const aio::Deadline look_again = aio::Deadline::in(kStatusPeriod);
        co_await services.engine.changed().wait(look_again);
        const aio::Deadline pause = aio::Deadline::in(kStatusPause);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) co_return;
        session->pods_changed = true;
        session->signal->notify_all();
    }
}

Follower::Follower(Services& services, Call call, LogQuery query, std::shared_ptr<Session> session)
    : services_(services),
      call_(std::move(call)),
      query_(std::move(query)),
      session_(std::move(session)) {}

std::string Follower::position() const {
    std::string text;
    for (const Followed& followed : pods_) {
        if (!followed.token.empty()) text += (text.empty() ? "" : ",") + followed.token;
    }
    return text;
}

bool Follower::all_ended() const {
    return !more_pods_expected_ &&
           std::all_of(pods_.begin(), pods_.end(), [](const Followed& pod) { return pod.ended; });
}

bool Follower::follows(const std::string& uid) const {
    return std::any_of(pods_.begin(), pods_.end(),
                       [&](const Followed& pod) { return pod.target.log.uid == uid; });
}

// Sends the reason while there is nothing to read, on each change; false: the session is over.
aio::Task<bool> Follower::wait_until_readable() {
    while (!session_->peer_gone && !services_.stopping) {
        aio::Turn::mark(kTurnWork);
        Result<std::vector<LogTarget>> targets = find_targets(services_, call_, query_);
        if (!targets) {
            co_await session_->send(simple_frame("error", targets.error().message, ""));
            co_return false;
        }
        const bool any_readable = std::any_of(targets->begin(), targets->end(),
                                              [](const auto& target) { return target.readable; });
        if (any_readable) {
            for (LogTarget& target : *targets) {
                if (!target.readable) {
                    more_pods_expected_ = query_.all;
                    continue;
                }
                const bool joined = co_await join(std::move(target), query_.tail);
                if (!joined) co_return false;
            }
            co_return true;
        }
        std::string status =
            targets->empty() ? "Pending: no pod exists yet" : targets->front().waiting_for;
        if (status != last_status_) {
            last_status_ = status;
            const std::string pod = targets->empty() ? "" : targets->front().log.pod.name;
            const bool sent = co_await session_->send(simple_frame("status", status, pod));
            if (!sent) co_return false;
        }
        const aio::Deadline look_again = aio::Deadline::in(kStatusPeriod);
        co_await services_.engine.changed().wait(look_again);
        const aio::Deadline pause = aio::Deadline::in(kStatusPause);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) co_return false;
    }
    co_return false;
}

// False: no capacity for this reader; an error was sent.
aio::Task<bool> Follower::join(LogTarget target, std::int64_t tail) {
    logs::SubscribeRequest request;
    request.log = target.log;
    request.tail = tail;
    const std::string hash = logs::pod_hash(target.log.uid);
    for (const logs::Token& token : query_.since) {
        if (token.pod_hash == hash) request.after = token.position;
    }
    // A token of another pod: with one pod followed, that pod has been replaced.
    const bool resumes = !query_.since.empty() && !request.after;
    request.other_incarnation = resumes && !query_.all;
    if (resumes && query_.all)
        request.tail = wire::kLogTailMax;  // it was written while no reader was connected
    auto subscription = services_.relay.subscribe(std::move(request), session_->signal);
    if (!subscription) {
        co_await session_->send(simple_frame("error", subscription.error().message, ""));
        const aio::Deadline deadline = aio::Deadline::in(kWriteDeadline);
        co_await session_->socket->close(net::CloseCode::try_again_later, "too many readers",
                                         deadline);
        co_return false;
    }
    Followed followed;
    followed.target = std::move(target);
    followed.subscription = std::move(*subscription);
    pods_.push_back(std::move(followed));
    co_return true;
}

// Pods that started, or were created again, since the last check: each from its first line.
aio::Task<bool> Follower::join_newcomers() {
    aio::Turn::mark(kTurnWork);
    session_->pods_changed = more_pods_expected_ = false;
    Result<std::vector<LogTarget>> targets = find_targets(services_, call_, query_);
    if (!targets) co_return true;  // the job is gone; remaining output of its pods is sent
    for (LogTarget& target : *targets) {
        if (follows(target.log.uid)) continue;
        if (!target.readable) {
            more_pods_expected_ = true;
        } else if (make_room_for_one()) {
            const bool joined = co_await join(std::move(target), wire::kLogTailMax);
            if (!joined) co_return false;
        } else if (!std::exchange(reported_too_many_, true)) {
            const std::string why = "not followed: at most " + std::to_string(kPodsFollowedMax) +
                                    " pods can be followed together";
            const bool sent =
                co_await session_->send(simple_frame("status", why, target.log.pod.name));
            if (!sent) co_return false;
        }
    }
    co_return true;
}

bool Follower::make_room_for_one() {
    if (pods_.size() < kPodsFollowedMax) return true;
    const auto ended =
        std::find_if(pods_.begin(), pods_.end(), [](const Followed& pod) { return pod.ended; });
    if (ended == pods_.end()) return false;
    pods_.erase(ended);
    return true;
}

// Sends buffered lines; false when the session is over.
aio::Task<bool> Follower::forward(Followed& followed) {
    using Partial = logs::Subscription::Partial;
    const bool may_show = aio::Clock::now() >= next_partial_at_;
    logs::LogBatch batch =
        followed.subscription->read_batch(kLinesPerTurn, may_show ? Partial::take : Partial::leave);
    const std::string pod = followed.subscription->pod_name();
    sent_ = sent_ || !batch.gap.empty() || batch.dropped > 0 || !batch.lines.empty();
    if (!batch.gap.empty()) {
        const bool sent = co_await session_->send(simple_frame("gap", batch.gap, pod));
        if (!sent) co_return false;
    }
    if (batch.dropped > 0) {
        Json frame = simple_frame("dropped", "this reader was too slow", pod);
        frame["count"] = batch.dropped;
        const bool sent = co_await session_->send(std::move(frame));
        if (!sent) co_return false;
    }
    for (logs::LogLine& line : batch.lines) {
        followed.token = logs::format_token(followed.subscription->pod_uid(), line.position);
        if (line.position.time_ns < query_.not_before_ns) continue;
        Json frame = simple_frame("log", line.text, pod);
        frame["seq"] = ++sequence_;
        frame["time"] = line.time;
        frame["position"] = position();
        const bool sent = co_await session_->send(std::move(frame));
        if (!sent) co_return false;
    }
    if (batch.partial) {
        const bool sent = co_await forward_partial(followed, std::move(*batch.partial));
        if (!sent) co_return false;
    }
    if (batch.failed) {
        const bool sent =
            co_await session_->send(simple_frame("error", batch.failed->message, pod));
        if (!sent) co_return false;
    }
    followed.ended = batch.ended;
    co_return true;
}

// Without a position and a number: a reader that resumes gets the complete line.
aio::Task<bool> Follower::forward_partial(Followed& followed, logs::PartialLine partial) {
    sent_ = true;
    next_partial_at_ = aio::Clock::now() + kPartialPause;
    Json frame = simple_frame("partial", partial.text, followed.subscription->pod_name());
    frame["time"] = partial.time;
    frame["redrawn"] = partial.redrawn;
    const bool sent = co_await session_->send(std::move(frame));
    co_return sent;
}

bool Follower::partials_wait() const {
    return std::any_of(pods_.begin(), pods_.end(), [](const Followed& pod) {
        return !pod.ended && pod.subscription->has_partial();
    });
}

aio::Task<bool> Follower::forward_all() {
    sent_ = false;
    const std::size_t first = first_pod_;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
        const std::size_t at = (first + i) % pods_.size();
        if (pods_[at].ended) continue;
        const auto before = next_partial_at_;
        const bool sent = co_await forward(pods_[at]);
        if (!sent) co_return false;
        if (next_partial_at_ != before) first_pod_ = at + 1;
    }
    co_return true;
}

aio::Task<void> Follower::run() {
    const bool readable = co_await wait_until_readable();
    if (!readable) co_return;
    if (query_.all)
        services_.tasks.spawn("pods of a followed job", watch_pods(services_, session_));
    session_->pods_changed = query_.all;  // since the check that found the first of them
    while (!session_->peer_gone && !services_.stopping) {
        if (session_->pods_changed) {
            const bool joined = co_await join_newcomers();
            if (!joined) co_return;
        }
        const bool forwarded = co_await forward_all();
        if (!forwarded) co_return;
        if (all_ended()) {
            co_await session_->send(simple_frame("end", "", ""));
            co_return;
        }
        if (sent_ || session_->pods_changed) continue;  // there may be more
        aio::Deadline deadline = aio::Deadline::in(kStatusPeriod);
        if (partials_wait()) {
            deadline = aio::Deadline::earlier(deadline, aio::Deadline{next_partial_at_});
        }
        co_await session_->signal->wait(deadline);
    }
}

}  // namespace gpuctl::api
