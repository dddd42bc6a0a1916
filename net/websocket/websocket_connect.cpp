#include <utility>

#include "net/http/http_pool.hpp"
#include "net/http/http_text.hpp"
#include "net/websocket/websocket_beast.hpp"

namespace gpuctl::net {

aio::Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(
    aio::Loop& loop, HttpClientSettings origin, HttpRequest upgrade, WebSocketSettings settings,
    aio::Deadline deadline, std::shared_ptr<HttpResponse> refusal) {
    const std::string doing = "open websocket " + upgrade.target;
    if (const auto sendable = check_sendable(upgrade); !sendable) co_return sendable.error();
    // A pool of one connection: it connects with the origin's TLS settings.
    const auto pool = std::make_shared<HttpPool>(loop, std::move(origin));
    Result<std::unique_ptr<HttpConnection>> connection = co_await pool->connect(deadline);
    if (!connection) co_return while_doing(doing, connection.error());
    std::unique_ptr<ByteStream> stream = std::move((*connection)->stream);
    const auto socket = BeastWebSocket::make(loop, std::move(stream), std::string{}, settings);
    const Result<void> open =
        co_await socket->handshake(std::move(upgrade), pool->host(), deadline);
    if (!open) {
        if (refusal) *refusal = socket->refusal();
        socket->abort();
        co_return while_doing(doing, open.error());
    }
    co_return BeastWebSocket::face(socket);
}

}  // namespace gpuctl::net
