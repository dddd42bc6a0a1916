#include "net/transport/byte_stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <optional>
#include <system_error>

#include "aio/timer.hpp"
#include "aio/turn.hpp"

namespace gpuctl::net {

namespace asio = boost::asio;

namespace {

using Descriptor = asio::posix::basic_stream_descriptor<aio::Executor>;
using State = IoOutcome::State;

std::string system_text(int error) { return std::generic_category().message(error); }

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

// One timer serves all deadlines of a connection. It moves only when a nearer deadline comes;
// otherwise it fires at the old one, re-checks and re-arms. So a kept-alive connection with a
// deadline per request costs no timer operation per request.
struct ByteStream::Parts : std::enable_shared_from_this<ByteStream::Parts> {
    struct Waiting {
        std::optional<aio::Clock::time_point> until;  // while a task is waiting on this side
        bool timed_out = false;
        Side socket_side = Side::read;  // TLS may need to write to read, and the reverse
    };

    Descriptor socket;
    aio::Timer timer;
    std::optional<aio::Clock::time_point> timer_at;
    std::array<Waiting, 2> waiting;
    std::shared_ptr<const TlsContext> tls;  // outlives ssl
    SslHandle ssl;
    bool tls_ended = false;  // no close_notify after a fatal TLS error
    std::string failure;

    Parts(aio::Executor executor, int descriptor) : socket(executor, descriptor), timer(executor) {
        waiting[1].socket_side = Side::write;
    }

    Waiting& side(Side which) { return waiting[static_cast<std::size_t>(which)]; }

    void arm(aio::Clock::time_point at) {
        if (timer_at && *timer_at <= at) return;
        timer_at = at;
        timer.expires_at(at);
        timer.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
            if (cancelled) return;
            if (const auto self = weak.lock()) self->timer_fired();
        });
    }

    void timer_fired() {
        const auto now = aio::Clock::now();
        if (timer_at && *timer_at > now) return;  // re-armed while this call was queued
        timer_at.reset();
        bool any_passed = false;
        std::optional<aio::Clock::time_point> next;
        for (Waiting& one : waiting) {
            if (!one.until) continue;
            if (*one.until <= now) {
                one.timed_out = true;
                any_passed = true;
            } else {
                next = next ? std::min(*next, *one.until) : *one.until;
            }
        }
        if (next) arm(*next);
        // Wakes the other side too; it finds no work and waits again.
        if (any_passed && socket.is_open()) socket.cancel();
    }

    IoOutcome fail(std::string why) {
        failure = std::move(why);
        return {State::failed, 0};
    }

    IoOutcome wait_for_side(Side which) {
        side(which).socket_side = which;
        return {State::again, 0};
    }

    IoOutcome tls_outcome(int returned, std::size_t bytes, Side which) {
        if (returned > 0) {
            side(which).socket_side = which;
            return {State::moved, bytes};
        }
        const int saved_errno = errno;
        switch (SSL_get_error(ssl.get(), returned)) {
            case SSL_ERROR_WANT_READ:
                side(which).socket_side = Side::read;
                return {State::again, 0};
            case SSL_ERROR_WANT_WRITE:
                side(which).socket_side = Side::write;
                return {State::again, 0};
            case SSL_ERROR_ZERO_RETURN:
                return {State::end, 0};
            case SSL_ERROR_SYSCALL:
                tls_ended = true;
                ERR_clear_error();
                return fail(saved_errno != 0 ? system_text(saved_errno) : "connection closed");
            default:
                tls_ended = true;
                return fail("TLS: " + tls->take_error(ssl.get()));
        }
    }

    void close() {
        if (!socket.is_open()) return;
        if (ssl && !tls_ended && SSL_is_init_finished(ssl.get())) {
            ERR_clear_error();
            SSL_shutdown(ssl.get());  // one attempt to send close_notify
            ERR_clear_error();
        }
        boost::system::error_code ignored;
        socket.close(ignored);
        timer.cancel();
    }
};

ByteStream::ByteStream(aio::Executor executor, int descriptor)
    : parts_(std::make_shared<Parts>(executor, descriptor)) {}

ByteStream::~ByteStream() { parts_->close(); }

// A turn that is long already moves no more bytes, as if the socket were not ready: the stream is
// read again in another turn, after the turns of other connections. Bytes buffered inside TLS do
// not show at the socket, but they are few.
IoOutcome ByteStream::try_read(char* to, std::size_t size) {
    if (aio::Turn::is_long() && !has_buffered()) return parts_->wait_for_side(Side::read);
    return read_now(to, size);
}

IoOutcome ByteStream::read_now(char* to, std::size_t size) {
    Parts& parts = *parts_;
    if (!parts.socket.is_open()) return parts.fail("connection closed on our side");
    if (parts.ssl) {
        ERR_clear_error();
        errno = 0;
        std::size_t bytes = 0;
        const int returned = SSL_read_ex(parts.ssl.get(), to, size, &bytes);
        return parts.tls_outcome(returned, bytes, Side::read);
    }
    const auto received = ::recv(parts.socket.native_handle(), to, size, 0);
    if (received > 0) return {State::moved, static_cast<std::size_t>(received)};
    if (received == 0) return {State::end, 0};
    if (would_block(errno)) return {State::again, 0};
    return parts.fail(system_text(errno));
}

IoOutcome ByteStream::try_write(const char* from, std::size_t size) {
    Parts& parts = *parts_;
    if (!parts.socket.is_open()) return parts.fail("connection closed on our side");
    if (aio::Turn::is_long()) return parts.wait_for_side(Side::write);
    if (parts.ssl) {
        ERR_clear_error();
        errno = 0;
        std::size_t bytes = 0;
        const int returned = SSL_write_ex(parts.ssl.get(), from, size, &bytes);
        return parts.tls_outcome(returned, bytes, Side::write);
    }
    const auto sent = ::send(parts.socket.native_handle(), from, size, MSG_NOSIGNAL);
    if (sent >= 0) return {State::moved, static_cast<std::size_t>(sent)};
    if (would_block(errno)) return {State::again, 0};
    return parts.fail(system_text(errno));
}

bool ByteStream::has_buffered() const {
    return parts_->ssl && SSL_has_pending(parts_->ssl.get()) != 0;
}

aio::Task<Wake> ByteStream::wait(Side side, aio::Deadline deadline) {
    const std::shared_ptr<Parts> parts = parts_;
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) co_return Wake::cancelled;
    if (deadline.passed()) co_return Wake::timeout;
    if (!parts->socket.is_open()) co_return Wake::ready;

    Parts::Waiting& mine = parts->side(side);
    mine.timed_out = false;
    mine.until = deadline.at();
    parts->arm(deadline.at());
    const auto direction =
        mine.socket_side == Side::read ? Descriptor::wait_read : Descriptor::wait_write;
    co_await parts->socket.async_wait(direction, asio::as_tuple(aio::kUseTask));
    mine.until.reset();

    const asio::cancellation_state after = co_await asio::this_coro::cancellation_state;
    if (after.cancelled() != asio::cancellation_type::none) co_return Wake::cancelled;
    co_return mine.timed_out ? Wake::timeout : Wake::ready;
}

void ByteStream::wait_then(Side side, std::function<void()> then) {
    Parts& parts = *parts_;
    if (!parts.socket.is_open()) {
        asio::post(parts.socket.get_executor(), std::move(then));
        return;
    }
    const auto direction =
        parts.side(side).socket_side == Side::read ? Descriptor::wait_read : Descriptor::wait_write;
    parts.socket.async_wait(direction,
                            [then = std::move(then)](const boost::system::error_code&) { then(); });
}

aio::Task<Result<void>> ByteStream::write_all(std::string_view bytes, std::size_t& sent,
                                              aio::Deadline deadline) {
    sent = 0;
    while (sent < bytes.size()) {
        const IoOutcome outcome = try_write(bytes.data() + sent, bytes.size() - sent);
        if (outcome.state == State::moved) {
            sent += outcome.bytes;
            continue;
        }
        if (outcome.state != State::again) {
            co_return make_error(ErrorCode::Unreachable, "write: " + last_failure());
        }
        const Wake wake = co_await wait(Side::write, deadline);
        if (wake == Wake::timeout) {
            co_return make_error(ErrorCode::Timeout, "write: the peer accepts no bytes");
        }
        if (wake == Wake::cancelled) co_return make_error(ErrorCode::Cancelled, "write: cancelled");
    }
    co_return Result<void>{};
}

void ByteStream::start_tls_client(std::shared_ptr<const TlsContext> context,
                                  const std::string& host) {
    parts_->ssl = context->new_client_session(parts_->socket.native_handle(), host);
    parts_->tls = std::move(context);
}

void ByteStream::start_tls_server(std::shared_ptr<const TlsContext> context) {
    parts_->ssl = context->new_server_session(parts_->socket.native_handle());
    parts_->tls = std::move(context);
}

aio::Task<Result<void>> ByteStream::handshake(aio::Deadline deadline) {
    for (;;) {
        if (!parts_->socket.is_open()) {
            co_return make_error(ErrorCode::TlsFailed, "TLS handshake: connection closed");
        }
        ERR_clear_error();
        errno = 0;
        const int returned = SSL_do_handshake(parts_->ssl.get());
        const IoOutcome outcome = parts_->tls_outcome(returned, 1, Side::read);
        if (outcome.state == State::moved) co_return Result<void>{};
        if (outcome.state != State::again) {
            co_return make_error(ErrorCode::TlsFailed, "TLS handshake: " + last_failure());
        }
        const Wake wake = co_await wait(Side::read, deadline);
        if (wake == Wake::timeout) {
            co_return make_error(ErrorCode::Unreachable,
                                 "TLS handshake: not complete before the deadline");
        }
        if (wake == Wake::cancelled) {
            co_return make_error(ErrorCode::Cancelled, "TLS handshake: cancelled");
        }
    }
}

void ByteStream::interrupt() {
    if (parts_->socket.is_open()) parts_->socket.cancel();
}

void ByteStream::shutdown_write() {
    if (!parts_->socket.is_open()) return;
    if (parts_->ssl && !parts_->tls_ended) {
        ERR_clear_error();
        SSL_shutdown(parts_->ssl.get());
        ERR_clear_error();
    }
    ::shutdown(parts_->socket.native_handle(), SHUT_WR);
}

void ByteStream::close() { parts_->close(); }

bool ByteStream::is_open() const { return parts_->socket.is_open(); }

int ByteStream::descriptor() const { return parts_->socket.native_handle(); }

const std::string& ByteStream::last_failure() const { return parts_->failure; }

}  // namespace gpuctl::net
