#pragma once
// The open sessions: how many there may be, and what is counted of them. Thread: the loop's. Lives
// longer than every session.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "aio/signal.hpp"
#include "daemon/api/sessions/session_relay.hpp"
#include "daemon/config/config.hpp"

namespace gpuctl::api {

inline constexpr std::array<std::string_view, 3> kSessionKindNames{"exec", "attach", "portforward"};

class SessionTable {
public:
    using ByKind = std::array<std::uint64_t, kSessionKindNames.size()>;
    struct Figures {
        ByKind open{};
        ByKind opened{};
        std::array<ByKind, kSessionFailureNames.size()> failed{};
        SessionTraffic traffic;
    };

    SessionTable(aio::Loop& loop, const config::Server& bounds);

    // Why `caller` may open no further session with this pod; nullopt: it may.
    [[nodiscard]] std::optional<Error> refusal(const std::string& caller,
                                               const std::string& pod) const;

    // Counted as open as long as it lives.
    class Open {
    public:
        Open(SessionTable& table, ports::SessionKind kind, std::string caller);
        ~Open();
        Open(const Open&) = delete;
        Open& operator=(const Open&) = delete;

    private:
        SessionTable& table_;
        ports::SessionKind kind_;
        std::string caller_;
    };

    void count_opened(ports::SessionKind kind) { ++figures_.opened[at(kind)]; }
    void count_failed(ports::SessionKind kind, SessionFailure why) {
        ++figures_.failed[static_cast<std::size_t>(why)][at(kind)];
    }
    [[nodiscard]] SessionTraffic& traffic() { return figures_.traffic; }
    [[nodiscard]] const Figures& figures() const { return figures_; }
    [[nodiscard]] const SessionLimits& limits() const { return limits_; }

    // For gpuctld that stops: true when every session has ended before the deadline.
    aio::Task<bool> all_ended(aio::Deadline deadline);

private:
    static std::size_t at(ports::SessionKind kind) { return static_cast<std::size_t>(kind); }

    std::size_t sessions_max_;
    std::size_t per_caller_max_;
    SessionLimits limits_;
    Figures figures_;
    std::size_t open_ = 0;
    std::map<std::string, std::size_t> by_caller_;  // those with a session
    aio::Signal ended_;
};

}  // namespace gpuctl::api
