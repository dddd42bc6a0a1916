#include "net/websocket/websocket_beast.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>

#include "aio/signal.hpp"
#include "net/websocket/websocket_layer.hpp"
#include "scheduler/base/check.hpp"
#include "text/http_status.hpp"

namespace gpuctl::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
namespace http = boost::beast::http;

namespace {

using Stream = websocket::stream<WebSocketLayer, false>;

// Limits the closing handshake with a peer that does not answer.
constexpr std::chrono::seconds kCloseTimeout{5};
// Messages read ahead of their reader. Reading continues so that pings are answered.
constexpr std::size_t kMessagesAheadMax = 16;
constexpr std::size_t kCloseReasonBytesMax = 123;  // RFC 6455, 5.5

Error ended_error(const beast::error_code& failure) {
    const bool too_big = failure == websocket::error::message_too_big;
    const bool protocol =
        failure.category() == make_error_code(websocket::error::bad_opcode).category();
    if (too_big) return make_error(ErrorCode::BodyTooLarge, "websocket: message too large");
    // Not Timeout, which means that the caller's deadline passed and that the stream still works.
    if (failure == beast::error::timeout) {
        return make_error(ErrorCode::Unreachable,
                          "websocket: the peer has been silent for too long");
    }
    return make_error(protocol ? ErrorCode::ProtocolError : ErrorCode::Unreachable,
                      "websocket: " + failure.message());
}

// Cut at the size of a close frame, before a character rather than inside it.
std::string_view close_reason(std::string_view why) {
    if (why.size() <= kCloseReasonBytesMax) return why;
    std::size_t end = kCloseReasonBytesMax;
    while (end > 0 && (static_cast<unsigned char>(why[end]) & 0xc0) == 0x80) --end;
    return why.substr(0, end);
}

aio::Task<Error> stopped_waiting(const char* doing) {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    co_return make_error(cancelled ? ErrorCode::Cancelled : ErrorCode::Timeout,
                         std::string("websocket: ") + doing +
                             (cancelled ? ": cancelled" : ": not complete before the deadline"));
}

// Operations are callbacks that hold the object; tasks wait for their outcome through signals. So a
// reader whose deadline passes leaves the read in flight and finds its result later.
class Session final : public BeastWebSocket, public std::enable_shared_from_this<Session> {
public:
    Session(aio::Loop& loop, std::unique_ptr<ByteStream> stream, std::string early,
            WebSocketSettings settings)
        : settings_(settings),
          stream_(WebSocketLayer{loop.executor(), std::move(stream), std::move(early)}),
          read_(loop),
          wrote_(loop),
          closed_(loop) {
        stream_.read_message_max(settings.message_bytes_max);
        stream_.auto_fragment(false);
    }

    aio::Task<Result<void>> accept(HttpRequest request, std::string protocol,
                                   aio::Deadline deadline) override {
        use_timeouts(deadline);
        upgrade_.method(http::verb::get);
        upgrade_.target(request.target);
        upgrade_.version(11);
        for (const auto& [name, value] : request.fields.all()) upgrade_.insert(name, value);
        stream_.set_option(websocket::stream_base::decorator(
            [protocol = std::move(protocol)](websocket::response_type& response) {
                response.set(http::field::server, "gpuctld");
                if (!protocol.empty()) {
                    response.set(http::field::sec_websocket_protocol, protocol);
                }
            }));
        stream_.async_accept(upgrade_, [self = shared_from_this()](beast::error_code failure) {
            self->opened(failure);
        });
        const Result<void> open = co_await wait_until_open(deadline);
        co_return open;
    }

    aio::Task<Result<void>> handshake(HttpRequest request, std::string host,
                                      aio::Deadline deadline) override {
        use_timeouts(deadline);
        stream_.set_option(websocket::stream_base::decorator(
            [fields = request.fields](websocket::request_type& upgrade) {
                upgrade.set(http::field::user_agent, "gpuctl/" GPUCTL_VERSION);
                for (const auto& [name, value] : fields.all()) upgrade.set(name, value);
            }));
        stream_.async_handshake(
            answer_, host, request.target,
            [self = shared_from_this()](beast::error_code failure) { self->opened(failure); });
        const Result<void> open = co_await wait_until_open(deadline);
        co_return open;
    }

    aio::Task<Result<void>> write(Kind kind, std::string message, aio::Deadline deadline) override {
        GPUCTL_CHECK(!writing_, "a websocket has one writer at a time");
        if (ended_) co_return ended_error(ended_why_);
        if (closing_) co_return make_error(ErrorCode::Cancelled, "websocket: closing");
        const auto self = shared_from_this();
        outgoing_ = std::move(message);
        writing_ = true;
        stream_.text(kind == Kind::text);
        stream_.async_write(asio::buffer(outgoing_),
                            [self](beast::error_code failure, std::size_t) {
                                self->writing_ = false;
                                self->write_failure_ = failure;
                                self->wrote_.notify_all();
                            });
        while (writing_) {
            const bool notified = co_await wrote_.wait(deadline);
            if (notified || !writing_) continue;
            abort();  // half a message is sent: nothing valid can follow it
            Error error = co_await stopped_waiting("write");
            co_return error;
        }
        if (write_failure_) co_return ended_error(write_failure_);
        co_return Result<void>{};
    }

    aio::Task<Result<std::optional<std::string>>> read(Kind kind, aio::Deadline deadline) override {
        const auto self = shared_from_this();
        while (ahead_.empty()) {
            if (ended_ && ended_why_ == websocket::error::closed) {
                co_return std::optional<std::string>{};
            }
            if (ended_) co_return ended_error(ended_why_);
            read_ahead();
            const bool notified = co_await read_.wait(deadline);
            if (notified || !ahead_.empty()) continue;
            Error error = co_await stopped_waiting("read");
            co_return error;
        }
        if (ahead_.front().kind != kind) {
            ahead_.clear();
            ahead_bytes_ = 0;
            ended_ = true;
            ended_why_ = websocket::error::bad_opcode;
            begin_close(CloseCode::policy,
                        kind == Kind::text ? "text messages only" : "messages of bytes only");
            co_return ended_error(ended_why_);
        }
        std::optional<std::string> message = std::move(ahead_.front().message);
        ahead_.pop_front();
        ahead_bytes_ -= message->size();
        read_ahead();
        co_return std::move(message);
    }

    aio::Task<void> close(CloseCode code, std::string why, aio::Deadline deadline) override {
        const auto self = shared_from_this();
        begin_close(code, why);
        while (!close_done_) {
            const bool notified = co_await closed_.wait(deadline);
            if (!notified) break;
        }
        abort();
    }

    // Beast's locks do not allow a close frame inside the handshake: it follows as soon as the
    // connection is open.
    void going_away() override {
        going_away_ = true;
        if (open_done_) begin_close(CloseCode::going_away, "the server stops");
    }

    void abort() override { stream_.next_layer().close(); }

private:
    void use_timeouts(aio::Deadline deadline) {
        // Beast's own timers: handshake, closing handshake, ping at half the idle time.
        open_by_ = deadline;
        set_timeouts(std::max<aio::Clock::duration>(deadline.left(), std::chrono::milliseconds(1)));
    }

    void set_timeouts(aio::Clock::duration handshake) {
        stream_.set_option(
            websocket::stream_base::timeout{handshake, settings_.idle_timeout, true});
    }

    void opened(const beast::error_code& failure) {
        open_done_ = true;
        open_failure_ = failure;
        if (!failure) {
            set_timeouts(kCloseTimeout);
            read_ahead();
            if (going_away_) going_away();
        }
        read_.notify_all();
    }

    aio::Task<Result<void>> wait_until_open(aio::Deadline deadline) {
        const auto self = shared_from_this();
        while (!open_done_) {
            const bool notified = co_await read_.wait(deadline);
            if (notified || open_done_) continue;
            abort();
            Error error = co_await stopped_waiting("handshake");
            co_return error;
        }
        if (!open_failure_) co_return Result<void>{};
        if (open_failure_ == websocket::error::upgrade_declined) {
            co_return make_error(text::code_of_http_status(static_cast<int>(answer_.result_int())),
                                 refusal_text());
        }
        co_return ended_error(open_failure_);
    }

    [[nodiscard]] HttpResponse refusal() const override {
        HttpResponse answer;
        answer.status = 0;
        if (open_failure_ != websocket::error::upgrade_declined) return answer;
        answer.status = static_cast<int>(answer_.result_int());
        for (const auto& field : answer_) {
            answer.fields.add(std::string(field.name_string()), std::string(field.value()));
        }
        answer.body = answer_.body();
        return answer;
    }

    [[nodiscard]] std::string protocol() const override {
        const auto chosen = answer_[http::field::sec_websocket_protocol];
        return {chosen.data(), chosen.size()};
    }

    std::string refusal_text() const {
        const auto location = answer_[http::field::location];
        const std::string target = redirect_target(static_cast<int>(answer_.result_int()),
                                                   {location.data(), location.size()});
        const std::string body = !target.empty()          ? target
                                 : answer_.body().empty() ? std::string(answer_.reason())
                                                          : std::string(answer_.body());
        return "upgrade refused with " + std::to_string(answer_.result_int()) + ": " + body;
    }

    void read_ahead() {
        if (reading_ || ended_ || ahead_.size() >= kMessagesAheadMax ||
            ahead_bytes_ >= settings_.message_bytes_max) {
            return;
        }
        reading_ = true;
        stream_.async_read(incoming_,
                           [self = shared_from_this()](beast::error_code failure, std::size_t) {
                               self->message_read(failure);
                           });
    }

    void message_read(const beast::error_code& failure) {
        reading_ = false;
        if (failure) {
            ended_ = true;
            ended_why_ = failure;
        } else {
            const auto data = incoming_.cdata();
            ahead_.push_back({stream_.got_text() ? Kind::text : Kind::bytes,
                              {static_cast<const char*>(data.data()), data.size()}});
            ahead_bytes_ += data.size();
            incoming_.consume(data.size());
            read_ahead();
        }
        read_.notify_all();
    }

    void begin_close(CloseCode code, const std::string& why) {
        if (closing_) return;
        closing_ = true;
        const auto number = static_cast<websocket::close_code>(static_cast<std::uint16_t>(code));
        const std::string_view text = close_reason(why);
        const websocket::close_reason reason{number, beast::string_view(text.data(), text.size())};
        stream_.async_close(reason, [self = shared_from_this()](beast::error_code) {
            self->close_done_ = true;
            self->closed_.notify_all();
        });
    }

    WebSocketSettings settings_;
    Stream stream_;
    http::request<http::empty_body> upgrade_;
    websocket::response_type answer_;
    aio::Deadline open_by_{aio::Clock::time_point{}};

    bool open_done_ = false;
    bool going_away_ = false;
    beast::error_code open_failure_;

    beast::flat_buffer incoming_;
    struct Ahead {
        Kind kind;
        std::string message;
    };
    std::deque<Ahead> ahead_;
    std::size_t ahead_bytes_ = 0;
    bool reading_ = false;
    bool ended_ = false;
    beast::error_code ended_why_;
    aio::Signal read_;

    std::string outgoing_;
    bool writing_ = false;
    beast::error_code write_failure_;
    aio::Signal wrote_;

    bool closing_ = false;
    bool close_done_ = false;
    aio::Signal closed_;
};

class Face final : public WebSocket {
public:
    explicit Face(std::shared_ptr<BeastWebSocket> socket) : socket_(std::move(socket)) {}
    ~Face() override { socket_->abort(); }

    aio::Task<Result<void>> write_text(std::string message, aio::Deadline deadline) override {
        return socket_->write(Kind::text, std::move(message), deadline);
    }
    aio::Task<Result<std::optional<std::string>>> read_text(aio::Deadline deadline) override {
        return socket_->read(Kind::text, deadline);
    }
    aio::Task<Result<void>> write_bytes(std::string message, aio::Deadline deadline) override {
        return socket_->write(Kind::bytes, std::move(message), deadline);
    }
    aio::Task<Result<std::optional<std::string>>> read_bytes(aio::Deadline deadline) override {
        return socket_->read(Kind::bytes, deadline);
    }
    [[nodiscard]] std::string protocol() const override { return socket_->protocol(); }
    aio::Task<void> close(CloseCode code, std::string why, aio::Deadline deadline) override {
        return socket_->close(code, std::move(why), deadline);
    }

private:
    using Kind = BeastWebSocket::Kind;
    std::shared_ptr<BeastWebSocket> socket_;
};

}  // namespace

std::shared_ptr<BeastWebSocket> BeastWebSocket::make(aio::Loop& loop,
                                                     std::unique_ptr<ByteStream> stream,
                                                     std::string early,
                                                     WebSocketSettings settings) {
    return std::make_shared<Session>(loop, std::move(stream), std::move(early), settings);
}

std::unique_ptr<WebSocket> BeastWebSocket::face(std::shared_ptr<BeastWebSocket> socket) {
    return std::make_unique<Face>(std::move(socket));
}

}  // namespace gpuctl::net
