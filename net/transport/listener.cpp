#include "net/transport/listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "aio/loop.hpp"
#include "text/url.hpp"

namespace gpuctl::net {

namespace {

constexpr int kBacklog = 1024;

int open_listener(const addrinfo& at) {
    const int descriptor =
        ::socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -1;
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(descriptor, at.ai_addr, at.ai_addrlen) == 0 && ::listen(descriptor, kBacklog) == 0) {
        return descriptor;
    }
    const int why = errno;
    ::close(descriptor);
    errno = why;
    return -1;
}

}  // namespace

Result<Listening> listen_on(const std::string& address, std::uint16_t port) {
    const std::string doing = "listen on " + text::host_port(address, port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int failure = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (failure != 0) {
        return make_error(ErrorCode::InvalidConfiguration, doing + ": " + ::gai_strerror(failure));
    }
    Listening listening;
    listening.descriptor = open_listener(*list);
    const int why = errno;
    ::freeaddrinfo(list);
    if (listening.descriptor < 0) {
        return make_error(ErrorCode::InvalidConfiguration,
                          doing + ": " + std::generic_category().message(why));
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listening.descriptor, reinterpret_cast<sockaddr*>(&bound), &size);
    listening.port =
        ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return listening;
}

Listener::Listener(aio::Loop& loop, Listening listening)
    : loop_(loop), port_(listening.port), socket_(loop.executor(), listening.descriptor) {}

Result<std::unique_ptr<Listener>> Listener::open(aio::Loop& loop, const std::string& address,
                                                 std::uint16_t port) {
    const Result<Listening> listening = listen_on(address, port);
    if (!listening) return listening.error();
    return std::unique_ptr<Listener>{new Listener{loop, *listening}};
}

aio::Task<Result<std::unique_ptr<ByteStream>>> Listener::accept(aio::Deadline deadline) {
    for (;;) {
        const int descriptor =
            ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor >= 0) {
            tune_socket(descriptor);
            co_return std::make_unique<ByteStream>(loop_.executor(), descriptor);
        }
        const int why = errno;
        if (why == ECONNABORTED || why == EINTR) continue;
        if (why != EAGAIN && why != EWOULDBLOCK) {
            co_return make_error(ErrorCode::Unreachable,
                                 "accept a connection: " + std::generic_category().message(why));
        }
        const Wake wake = co_await socket_.wait(Side::read, deadline);
        if (wake == Wake::ready) continue;
        const bool cancelled = wake == Wake::cancelled;
        co_return make_error(cancelled ? ErrorCode::Cancelled : ErrorCode::Timeout,
                             "accept a connection: none came");
    }
}

}  // namespace gpuctl::net
