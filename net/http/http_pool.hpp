#pragma once
// The connections of one HttpClient: which request may be sent now, which wait, and which
// connections are idle. Private to net/.

#include <deque>
#include <memory>
#include <vector>

#include "aio/timer.hpp"
#include "net/http/http_client.hpp"
#include "net/http/http_exchange.hpp"
#include "net/transport/tls_context.hpp"

namespace gpuctl::net {

class HttpPool : public std::enable_shared_from_this<HttpPool> {
public:
    HttpPool(aio::Loop& loop, HttpClientSettings settings);

    // A place among the requests in flight, passed on in FIFO order.
    class Slot {
    public:
        Slot() = default;
        ~Slot();
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        [[nodiscard]] bool take_free(const std::shared_ptr<HttpPool>& pool);
        aio::Task<Result<void>> take_waiting(std::shared_ptr<HttpPool> pool,
                                             aio::Deadline deadline);

    private:
        friend class HttpPool;
        std::shared_ptr<HttpPool> pool_;
        aio::Timer* wake_ = nullptr;  // while waiting: points into the waiting frame
        bool held_ = false;
    };

    std::unique_ptr<HttpConnection> take_idle();  // null when none is alive
    void put_idle(std::unique_ptr<HttpConnection> connection);
    aio::Task<Result<std::unique_ptr<HttpConnection>>> connect(aio::Deadline deadline);

    void replace_tls(ClientTls tls);
    void retire();  // the client is being destroyed: keep no connection
    [[nodiscard]] HttpClient::Figures figures() const;
    [[nodiscard]] const HttpClientSettings& settings() const { return settings_; }
    [[nodiscard]] const std::string& host() const { return host_; }
    [[nodiscard]] aio::Loop& loop() { return loop_; }

private:
    void release_slot();
    void make_tls();
    void arm_idle_timer();
    void close_idle();

    aio::Loop& loop_;
    HttpClientSettings settings_;
    std::string host_;  // the Host header
    std::optional<Result<std::shared_ptr<TlsContext>>> tls_;
    std::uint64_t generation_ = 0;
    bool retired_ = false;

    std::size_t in_flight_ = 0;
    std::deque<Slot*> waiting_;
    std::deque<std::unique_ptr<HttpConnection>> idle_;  // oldest first; taken from the back
    aio::Timer idle_timer_;
    bool idle_timer_armed_ = false;
    std::uint64_t opened_ = 0;
    std::shared_ptr<std::size_t> connections_ = std::make_shared<std::size_t>(0);
};

// Cancelled or Timeout when it is too late to begin an exchange.
aio::Task<Result<void>> check_time_left(aio::Deadline deadline);

aio::Task<Result<std::unique_ptr<HttpClient::Stream>>> open_stream_on(
    std::shared_ptr<HttpPool> pool, HttpRequest request, aio::Deadline deadline);

}  // namespace gpuctl::net
