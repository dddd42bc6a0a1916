#pragma once
// Beast's WebSocket on our byte stream, for both ends. Private to net/; names no Beast type, so
// that only websocket_beast.cpp pays for compiling it.

#include <memory>
#include <string>

#include "aio/loop.hpp"
#include "net/http/http_types.hpp"
#include "net/transport/byte_stream.hpp"
#include "net/websocket/websocket.hpp"

namespace gpuctl::net {

class BeastWebSocket {
public:
    // `early`: bytes already read from the stream behind the handshake.
    static std::shared_ptr<BeastWebSocket> make(aio::Loop& loop, std::unique_ptr<ByteStream> stream,
                                                std::string early, WebSocketSettings settings);
    virtual ~BeastWebSocket() = default;

    // Server: answers the upgrade request (or refuses a malformed one by itself).
    virtual aio::Task<Result<void>> accept(HttpRequest request, std::string protocol,
                                           aio::Deadline deadline) = 0;
    // Client: sends the upgrade request.
    virtual aio::Task<Result<void>> handshake(HttpRequest request, std::string host,
                                              aio::Deadline deadline) = 0;

    // Client: the answer that refused the upgrade; its status is 0 if there was none.
    [[nodiscard]] virtual HttpResponse refusal() const = 0;

    // The handle that users hold; destroying it ends the connection.
    static std::unique_ptr<WebSocket> face(std::shared_ptr<BeastWebSocket> socket);

    enum class Kind : std::uint8_t { text, bytes };
    virtual aio::Task<Result<void>> write(Kind kind, std::string message,
                                          aio::Deadline deadline) = 0;
    virtual aio::Task<Result<std::optional<std::string>>> read(Kind kind,
                                                               aio::Deadline deadline) = 0;
    [[nodiscard]] virtual std::string protocol() const = 0;
    virtual aio::Task<void> close(CloseCode code, std::string why, aio::Deadline deadline) = 0;
    virtual void going_away() = 0;  // the server stops: begin the closing handshake
    virtual void abort() = 0;
};

}  // namespace gpuctl::net
