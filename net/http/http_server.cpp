#include "net/http/http_server.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "net/http/http_session.hpp"
#include "net/http/http_text.hpp"
#include "net/transport/listener.hpp"

namespace gpuctl::net {

namespace {

// Accepting one connection per turn falls behind under load; accepting without a bound starves the
// loop.
constexpr int kAcceptsPerTurn = 64;
// Refused connections whose 503 is still being sent.
constexpr std::size_t kGoodbyesMax = 64;

std::string address_text(const sockaddr_storage& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
        ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    } else if (address.ss_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
        ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    }
    return text.data();
}

// The first bytes of a TLS connection are the handshake's; the session follows.
aio::Task<void> run_tls_session(std::shared_ptr<SessionsShared> shared,
                                std::unique_ptr<ByteStream> stream, std::string remote) {
    const Result<void> done =
        co_await stream->handshake(aio::Deadline::in(shared->settings.header_timeout));
    if (!done) co_return;
    co_await run_session(std::move(shared), std::move(stream), std::move(remote));
}

aio::Task<void> send_refusal(std::unique_ptr<ByteStream> stream, std::string answer) {
    std::size_t sent = 0;
    const Result<void> written =
        co_await stream->write_all(answer, sent, aio::Deadline::in(std::chrono::seconds(1)));
    if (written) co_await close_gently(*stream);
}

}  // namespace

struct HttpServer::Parts : std::enable_shared_from_this<HttpServer::Parts> {
    aio::Loop& loop;
    std::shared_ptr<SessionsShared> shared;
    aio::TaskGroup accepting;
    aio::TaskGroup sessions;
    aio::TaskGroup goodbyes;
    std::unique_ptr<ByteStream> listener;
    std::uint16_t port = 0;
    std::shared_ptr<const TlsContext> tls;
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;

    Parts(aio::Loop& on, HttpServerSettings settings, HttpHandler& handler)
        : loop(on),
          shared(new SessionsShared{on, std::move(settings), handler, false, {}}),
          accepting(on),
          sessions(on),
          goodbyes(on) {}

    // False when no more connections are waiting.
    bool accept_one(int& failure) {
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        const int descriptor = ::accept4(listener->descriptor(), reinterpret_cast<sockaddr*>(&peer),
                                         &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            failure = errno;
            return failure == ECONNABORTED || failure == EINTR;
        }
        tune_socket(descriptor);
        auto stream = std::make_unique<ByteStream>(loop.executor(), descriptor);
        if (sessions.size() >= shared->settings.connections_max) {
            refuse(std::move(stream));
            return true;
        }
        ++accepted;
        std::string remote = address_text(peer);
        std::string name = "http session of " + remote;
        if (tls) {
            stream->start_tls_server(tls);
            sessions.spawn(std::move(name),
                           run_tls_session(shared, std::move(stream), std::move(remote)));
        } else {
            sessions.spawn(std::move(name),
                           run_session(shared, std::move(stream), std::move(remote)));
        }
        return true;
    }

    void refuse(std::unique_ptr<ByteStream> stream) {
        ++refused;
        // An answer over TLS would cost the handshake that the limit avoids.
        if (tls || goodbyes.size() >= kGoodbyesMax) return;
        std::string answer;
        append_response(shared->handler.problem(503, "TooManyRequests",
                                                "connect: too many connections; try again later"),
                        ResponseText{false, true}, answer);
        goodbyes.spawn("refused http connection", send_refusal(std::move(stream), answer));
    }

    static aio::Task<void> accept_loop(std::shared_ptr<Parts> self) {
        while (!self->accepting.cancelled() && self->listener->is_open()) {
            int failure = 0;
            int count = 0;
            while (count < kAcceptsPerTurn && self->accept_one(failure)) ++count;
            if (failure == EMFILE || failure == ENFILE || failure == ENOBUFS || failure == ENOMEM) {
                // Nothing can be accepted until something is closed; the listener stays readable.
                co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds(50)));
                continue;
            }
            co_await self->listener->wait(Side::read, aio::Deadline::in(std::chrono::hours(1)));
        }
    }
};

HttpServer::HttpServer(aio::Loop& loop, HttpServerSettings settings, HttpHandler& handler)
    : parts_(std::make_shared<Parts>(loop, std::move(settings), handler)) {}

HttpServer::~HttpServer() = default;

Result<void> HttpServer::start() {
    const HttpServerSettings& settings = parts_->shared->settings;
    if (settings.tls) {
        if (auto used = replace_tls(*settings.tls); !used) return used.error();
    }
    const Result<Listening> listening = listen_on(settings.address, settings.port);
    if (!listening) return listening.error();
    parts_->port = listening->port;
    parts_->listener = std::make_unique<ByteStream>(parts_->loop.executor(), listening->descriptor);
    parts_->accepting.spawn("http accept", Parts::accept_loop(parts_));
    return {};
}

std::uint16_t HttpServer::port() const { return parts_->port; }

Result<void> HttpServer::replace_tls(ServerTls tls) {
    auto context = TlsContext::for_server(tls);
    if (!context) return context.error();
    parts_->tls = *context;
    return {};
}

void HttpServer::stop_accepting() {
    if (parts_->listener) parts_->listener->close();
    parts_->accepting.cancel();
}

aio::Task<bool> HttpServer::stop(aio::Deadline deadline) {
    const std::shared_ptr<Parts> parts = parts_;
    stop_accepting();
    parts->shared->stopping = true;
    parts->goodbyes.cancel();
    for (HttpSession* session : parts->shared->sessions) session->stop();
    const bool in_time = co_await parts->sessions.join(deadline);
    parts->sessions.cancel();
    // Cancelled tasks end in a turn or two, unless a handler blocks on something of its own.
    const auto last_call = aio::Deadline::in(std::chrono::seconds(5));
    const bool sessions_ended = co_await parts->sessions.join(last_call);
    const bool goodbyes_ended = co_await parts->goodbyes.join(last_call);
    const bool accept_ended = co_await parts->accepting.join(last_call);
    co_return in_time&& sessions_ended&& goodbyes_ended&& accept_ended;
}

HttpServer::Figures HttpServer::figures() const {
    return {parts_->sessions.size(), parts_->accepted, parts_->refused};
}

}  // namespace gpuctl::net
