#pragma once
// Carries bytes between a client's WebSocket and a session with a pod. Each direction holds one
// message at a time and reads the next when the other side has taken it: a side that does not read
// stops the side that writes, and memory stays bounded.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "aio/task_group.hpp"
#include "net/websocket/websocket.hpp"
#include "ports/sessions.hpp"

namespace gpuctl::api {

struct SessionLimits {
    std::chrono::milliseconds look_up{
        1'000};  // how often an idle session checks whether it may go on
    std::chrono::milliseconds idle{3'600'000};  // without a byte in either direction
    std::chrono::milliseconds stalled{60'000};  // one message that the other side does not take
};

// Why the session must end now; nullopt: it may go on.
using MustEnd = std::function<std::optional<Error>()>;

// Runs until one side ends; then both are closed. `tasks` runs the direction from the client.
aio::Task<void> relay_session(aio::TaskGroup& tasks, std::shared_ptr<net::WebSocket> client,
                              std::shared_ptr<ports::SessionStream> pod, SessionLimits limits,
                              MustEnd must_end);

}  // namespace gpuctl::api
