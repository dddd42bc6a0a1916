#include "net/http/http_client.hpp"

#include <utility>

#include "net/http/http_exchange.hpp"
#include "net/http/http_pool.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::net {

struct HttpClient::Parts : HttpPool {
    using HttpPool::HttpPool;
};

HttpClient::HttpClient(aio::Loop& loop, HttpClientSettings settings)
    : parts_(std::make_shared<Parts>(loop, std::move(settings))) {}

HttpClient::~HttpClient() { parts_->retire(); }

void HttpClient::replace_tls(ClientTls tls) { parts_->replace_tls(std::move(tls)); }

HttpClient::Figures HttpClient::figures() const { return parts_->figures(); }

aio::Task<Result<std::unique_ptr<HttpClient::Stream>>> HttpClient::open_stream(
    HttpRequest request, aio::Deadline deadline) {
    return open_stream_on(parts_, std::move(request), deadline);
}

aio::Task<Result<HttpResponse>> HttpClient::request(HttpRequest request, aio::Deadline deadline) {
    const std::shared_ptr<HttpPool> pool = parts_;
    if (const auto sendable = check_sendable(request); !sendable) co_return sendable.error();

    // `slot` passes its place to the next waiter when this frame ends, however it ends.
    HttpPool::Slot slot;
    if (!slot.take_free(pool)) {
        const Result<void> taken = co_await slot.take_waiting(pool, deadline);
        if (!taken) co_return while_doing(request.method + " " + request.target, taken.error());
    }

    // If the caller has given up, do not send: the outcome would be unknown for nothing.
    const Result<void> worth_sending = co_await check_time_left(deadline);
    if (!worth_sending) {
        co_return while_doing(request.method + " " + request.target, worth_sending.error());
    }

    std::unique_ptr<HttpConnection> connection = pool->take_idle();
    for (;;) {
        const bool reused = connection != nullptr;
        if (!reused) {
            auto opened = co_await pool->connect(deadline);
            if (!opened) {
                co_return while_doing(request.method + " " + request.target, opened.error());
            }
            connection = std::move(*opened);
        }
        Exchange exchange = co_await run_exchange(*connection, request, pool->host(),
                                                  pool->settings().response_bytes_max, deadline);
        if (exchange.reusable) pool->put_idle(std::move(connection));
        connection.reset();
        if (!exchange.failure) co_return std::move(exchange.response);

        // The server closed a kept-alive connection while our request was on its way. No byte of an
        // answer came, and a GET is safe to send twice.
        const bool lost_with_idle = reused && exchange.peer_gone && !exchange.answer_begun;
        if (lost_with_idle && (request.method == "GET" || exchange.bytes_sent == 0)) continue;
        co_return while_doing(request.method + " " + request.target, *exchange.failure);
    }
}

}  // namespace gpuctl::net
