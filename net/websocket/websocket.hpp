#pragma once
// A WebSocket as both ends see it: whole messages of text or of bytes, pings and idle timeouts
// handled inside.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/http/http_client.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

enum class CloseCode : std::uint16_t {
    normal = 1000,
    going_away = 1001,
    policy = 1008,
    too_big = 1009,
    internal = 1011,
    try_again_later = 1013
};

struct WebSocketSettings {
    std::size_t message_bytes_max = 1u << 20;
    std::chrono::seconds idle_timeout{60};  // a ping is sent at half of it; silence ends the stream
};

class WebSocket {
public:
    virtual ~WebSocket() = default;
    // One writer and one reader task at a time.
    virtual aio::Task<Result<void>> write_text(std::string message, aio::Deadline deadline) = 0;
    // nullopt: the peer closed the stream cleanly. Timeout: no message before the deadline, the
    // stream is unchanged. Any other error ends the stream.
    // A message of bytes ends the stream.
    virtual aio::Task<Result<std::optional<std::string>>> read_text(aio::Deadline deadline) = 0;
    // The same for messages of bytes; one of text ends the stream.
    virtual aio::Task<Result<void>> write_bytes(std::string message, aio::Deadline deadline) = 0;
    virtual aio::Task<Result<std::optional<std::string>>> read_bytes(aio::Deadline deadline) = 0;
    // Client: the sub-protocol that the server chose; empty: none.
    [[nodiscard]] virtual std::string protocol() const = 0;
    virtual aio::Task<void> close(CloseCode code, std::string why, aio::Deadline deadline) = 0;
};

// Client side: connects, upgrades, and returns the open socket. A refused upgrade is an Error whose
// message carries the server's problem document, or the target of a redirect; `refusal` receives
// the server's answer (its status is 0 before).
aio::Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(
    aio::Loop& loop, HttpClientSettings origin, HttpRequest upgrade, WebSocketSettings settings,
    aio::Deadline deadline, std::shared_ptr<HttpResponse> refusal = nullptr);

}  // namespace gpuctl::net
