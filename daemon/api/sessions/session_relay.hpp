#pragma once
// Carries bytes between a client's WebSocket and a session with a pod. Each direction holds one
// message at a time and reads the next when the other side has taken it: a side that does not read
// stops the side that writes, and memory stays bounded.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "net/websocket/websocket.hpp"
#include "ports/sessions.hpp"

namespace gpuctl::api {

struct SessionLimits {
    std::chrono::milliseconds look_up{250};     // how often a session checks whether it may go on
    std::chrono::milliseconds idle{3'600'000};  // without a byte in either direction
    std::chrono::milliseconds longest{86'400'000};  // in all
    std::chrono::milliseconds stalled{60'000};      // one message that the other side does not take
    // Once a session must end: after this time a client that takes nothing is cut off.
    std::chrono::milliseconds goodbye{2'000};
};

// Why a session did not end by itself, or never began.
enum class SessionFailure : std::uint8_t {
    limit,       // there are too many already
    refused,     // no such pod, it does not run, gpuctld does not lead
    not_opened,  // the cluster did not open it
    stopped,     // gpuctld stops, or leads no longer
    idle,
    too_long,
    stalled,  // a side took nothing for too long
    client,   // sent what it may not send
    node      // ended without an exit code
};
inline constexpr std::array<std::string_view, 9> kSessionFailureNames{
    "limit", "refused", "not_opened", "stopped", "idle", "too_long", "stalled", "client", "node"};

// Bytes of all sessions so far.
struct SessionTraffic {
    std::uint64_t to_pods = 0;
    std::uint64_t from_pods = 0;
};

// Why the session must end now; nullopt: it may go on.
using MustEnd = std::function<std::optional<Error>()>;

// Runs until one side ends; then both are closed. nullopt: it ended as it should. `tasks` runs the
// direction from the client; `traffic` lives longer than they.
aio::Task<std::optional<SessionFailure>> relay_session(aio::TaskGroup& tasks,
                                                       std::shared_ptr<net::WebSocket> client,
                                                       std::shared_ptr<ports::SessionStream> pod,
                                                       SessionLimits limits, MustEnd must_end,
                                                       SessionTraffic& traffic);

}  // namespace gpuctl::api
