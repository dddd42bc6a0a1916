#include "net/http/http_pool.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>

#include "aio/loop.hpp"
#include "text/url.hpp"

namespace gpuctl::net {

namespace asio = boost::asio;

HttpPool::HttpPool(aio::Loop& loop, HttpClientSettings settings)
    : loop_(loop), settings_(std::move(settings)), idle_timer_(loop.executor()) {
    host_ = text::host_header(settings_.host, settings_.port, settings_.tls.enabled);
    make_tls();
}

void HttpPool::make_tls() {
    tls_.reset();
    if (settings_.tls.enabled) tls_ = TlsContext::for_client(settings_.tls);
}

void HttpPool::replace_tls(ClientTls tls) {
    settings_.tls = std::move(tls);
    ++generation_;
    make_tls();
    idle_.clear();
}

void HttpPool::retire() {
    retired_ = true;
    idle_.clear();
    idle_timer_.cancel();
}

HttpClient::Figures HttpPool::figures() const {
    return {in_flight_, waiting_.size(), *connections_, opened_};
}

// --- places in flight ---

bool HttpPool::Slot::take_free(const std::shared_ptr<HttpPool>& pool) {
    if (pool->in_flight_ >= pool->settings_.in_flight_max) return false;
    ++pool->in_flight_;
    pool_ = pool;
    held_ = true;
    return true;
}

aio::Task<Result<void>> HttpPool::Slot::take_waiting(std::shared_ptr<HttpPool> pool,
                                                     aio::Deadline deadline) {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return make_error(ErrorCode::Cancelled, "cancelled before it was sent");
    }
    if (pool->waiting_.size() >= pool->settings_.waiting_max) {
        co_return make_error(
            ErrorCode::TooManyRequests,
            "not sent: " + std::to_string(pool->waiting_.size()) + " requests wait already");
    }
    aio::Timer timer{pool->loop_.executor(), deadline.at()};
    pool_ = std::move(pool);
    wake_ = &timer;
    pool_->waiting_.push_back(this);
    co_await timer.async_wait(asio::as_tuple(aio::kUseTask));
    wake_ = nullptr;
    if (held_) co_return Result<void>{};

    std::erase(pool_->waiting_, this);
    const asio::cancellation_state after = co_await asio::this_coro::cancellation_state;
    if (after.cancelled() != asio::cancellation_type::none) {
        co_return make_error(ErrorCode::Cancelled, "cancelled before it was sent");
    }
    co_return make_error(ErrorCode::Timeout,
                         "not sent: too many requests in flight until the deadline");
}

HttpPool::Slot::~Slot() {
    if (!pool_) return;
    if (held_) {
        pool_->release_slot();
    } else {
        std::erase(pool_->waiting_, this);
    }
}

void HttpPool::release_slot() {
    if (waiting_.empty()) {
        --in_flight_;
        return;
    }
    Slot* next = waiting_.front();
    waiting_.pop_front();
    next->held_ = true;
    next->wake_->cancel();
}

aio::Task<Result<void>> check_time_left(aio::Deadline deadline) {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return make_error(ErrorCode::Cancelled, "cancelled before it was sent");
    }
    if (deadline.passed()) {
        co_return make_error(ErrorCode::Timeout, "not sent: its deadline had passed");
    }
    co_return Result<void>{};
}

// --- connections ---

std::unique_ptr<HttpConnection> HttpPool::take_idle() {
    while (!idle_.empty()) {
        std::unique_ptr<HttpConnection> connection = std::move(idle_.back());
        idle_.pop_back();
        // A server sends nothing on an idle connection except its close.
        char byte = 0;
        const IoOutcome outcome = connection->stream->read_now(&byte, 1);
        if (outcome.state == IoOutcome::State::again) return connection;
    }
    return nullptr;
}

void HttpPool::put_idle(std::unique_ptr<HttpConnection> connection) {
    if (retired_ || connection->generation != generation_) return;
    connection->idle_since = aio::Clock::now();
    idle_.push_back(std::move(connection));
    arm_idle_timer();
}

void HttpPool::arm_idle_timer() {
    if (idle_timer_armed_ || idle_.empty()) return;
    idle_timer_armed_ = true;
    idle_timer_.expires_at(idle_.front()->idle_since + settings_.idle_close);
    idle_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
        const auto self = weak.lock();
        if (!self || cancelled) return;
        self->idle_timer_armed_ = false;
        self->close_idle();
    });
}

void HttpPool::close_idle() {
    const auto before = aio::Clock::now() - settings_.idle_close;
    while (!idle_.empty() && idle_.front()->idle_since <= before) idle_.pop_front();
    arm_idle_timer();
}

aio::Task<Result<std::unique_ptr<HttpConnection>>> HttpPool::connect(aio::Deadline deadline) {
    const std::shared_ptr<HttpPool> self = shared_from_this();
    const auto tls = tls_;
    const std::uint64_t generation = generation_;
    if (tls && !*tls) co_return tls->error();

    const auto until =
        aio::Deadline::earlier(deadline, aio::Deadline::in(settings_.connect_timeout));
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_stream(loop_, settings_.host, settings_.port, until);
    if (!stream) co_return stream.error();
    ++opened_;
    auto connection = std::make_unique<HttpConnection>(std::move(*stream));
    connection->generation = generation;
    ++*connections_;
    connection->counted =
        std::shared_ptr<void>(nullptr, [count = connections_](std::nullptr_t) { --*count; });
    if (tls) {
        connection->stream->start_tls_client(**tls, text::certificate_name(settings_.host));
        const Result<void> done = co_await connection->stream->handshake(until);
        if (!done) {
            co_return while_doing("connect to " + text::host_port(settings_.host, settings_.port),
                                  done.error());
        }
    }
    co_return std::move(connection);
}

}  // namespace gpuctl::net
