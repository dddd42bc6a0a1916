#pragma once
// One log reader on a WebSocket: follows one pod, or every pod of a job as pods start and end.

#include <memory>
#include <string>
#include <vector>

#include "aio/signal.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/logs/log_targets.hpp"

namespace gpuctl::api {

// A socket that a Follower writes to and watch_peer() reads from, which only detects that the peer
// has closed it. The last user frees it.
struct Session {
    Session(aio::Loop& loop, std::unique_ptr<net::WebSocket> s)
        : socket(std::move(s)), signal(std::make_shared<aio::Signal>(loop)) {}
    std::unique_ptr<net::WebSocket> socket;
    std::shared_ptr<aio::Signal> signal;  // lines came, the peer left, or pods changed
    bool peer_gone = false;
    bool pods_changed = false;

    aio::Task<bool> send(Json frame);  // false: the session is over
};

// Ends when the peer has closed the connection.
aio::Task<void> watch_peer(std::shared_ptr<Session> session);
// Notifies when the job's pods may have changed; ends soon after the session.
aio::Task<void> watch_pods(Services& services, std::shared_ptr<Session> session);

class Follower {
public:
    Follower(Services& services, Call call, LogQuery query, std::shared_ptr<Session> session);

    // Runs until the logs have ended, the peer has closed or the daemon stops.
    aio::Task<void> run();

private:
    struct Followed {
        LogTarget target;
        std::unique_ptr<logs::Subscription> subscription;
        std::string token;  // of the last line sent
        bool ended = false;
    };

    aio::Task<bool> wait_until_readable();
    aio::Task<bool> forward(Followed& followed);
    aio::Task<bool> forward_partial(Followed& followed, logs::PartialLine partial);
    aio::Task<bool> forward_all();
    [[nodiscard]] bool partials_wait() const;
    aio::Task<bool> join_newcomers();
    aio::Task<bool> join(LogTarget target, std::int64_t tail);
    [[nodiscard]] bool follows(const std::string& uid) const;
    bool make_room_for_one();
    [[nodiscard]] std::string position() const;
    [[nodiscard]] bool all_ended() const;

    Services& services_;
    Call call_;
    LogQuery query_;
    std::shared_ptr<Session> session_;
    std::vector<Followed> pods_;
    bool more_pods_expected_ = false;  // pods of the job that cannot be read yet
    bool reported_too_many_ = false;
    std::uint64_t sequence_ = 0;
    bool sent_ = false;          // anything, in the present round
    std::size_t first_pod_ = 0;  // of a round: after the pod whose unfinished line was sent last
    aio::Clock::time_point next_partial_at_{};
    std::string last_status_;
};

}  // namespace gpuctl::api
