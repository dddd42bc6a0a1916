#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "net/transport/byte_stream.hpp"
#include "text/url.hpp"

namespace gpuctl::net {

namespace {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    int family = 0;
};

struct Resolved {
    explicit Resolved(aio::Loop& loop) : done(loop) {}
    aio::Signal done;
    bool ended = false;
    int failure = 0;
    std::vector<Address> addresses;
};

int resolve_host(const std::string& host, std::uint16_t port, int flags,
                 std::vector<Address>& addresses) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (failure != 0) return failure;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        Address address;
        std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
        address.size = one->ai_addrlen;
        address.family = one->ai_family;
        addresses.push_back(address);
    }
    ::freeaddrinfo(list);
    return 0;
}

aio::Task<Result<std::vector<Address>>> resolve(aio::Loop& loop, std::string host,
                                                std::uint16_t port, aio::Deadline deadline) {
    const auto resolved = std::make_shared<Resolved>(loop);
    // A literal address needs no resolver and no thread.
    if (resolve_host(host, port, AI_NUMERICHOST, resolved->addresses) == 0) {
        co_return std::move(resolved->addresses);
    }
    // The resolver may take longer than the deadline; its late answer is then dropped.
    loop.offload([&loop, resolved, host, port] {
        std::vector<Address> addresses;
        const int failure = resolve_host(host, port, 0, addresses);
        loop.post([resolved, failure, found = std::move(addresses)] {
            resolved->failure = failure;
            resolved->addresses = found;
            resolved->ended = true;
            resolved->done.notify_all();
        });
    });
    while (!resolved->ended) {
        const bool notified = co_await resolved->done.wait(deadline);
        if (!notified) break;
    }
    if (!resolved->ended) {
        co_return make_error(ErrorCode::Unreachable, "resolve " + host + ": no answer in time");
    }
    if (resolved->failure != 0) {
        co_return make_error(ErrorCode::Unreachable,
                             "resolve " + host + ": " + ::gai_strerror(resolved->failure));
    }
    co_return std::move(resolved->addresses);
}

int option(int descriptor, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    ::getsockopt(descriptor, level, name, &value, &size);
    return value;
}

void set_option(int descriptor, int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);
}

aio::Task<Result<std::unique_ptr<ByteStream>>> connect_one(aio::Loop& loop, Address address,
                                                           aio::Deadline deadline) {
    const int descriptor =
        ::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) {
        co_return make_error(ErrorCode::Unreachable,
                             "open a socket: " + std::generic_category().message(errno));
    }
    auto stream = std::make_unique<ByteStream>(loop.executor(), descriptor);
    tune_socket(descriptor);
    int failure = 0;
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) !=
        0) {
        failure = errno;
    }
    if (failure == EINPROGRESS) {
        const Wake wake = co_await stream->wait(Side::write, deadline);
        if (wake == Wake::cancelled) co_return make_error(ErrorCode::Cancelled, "cancelled");
        failure = wake == Wake::timeout ? ETIMEDOUT : option(descriptor, SOL_SOCKET, SO_ERROR);
    }
    if (failure != 0) {
        co_return make_error(ErrorCode::Unreachable, std::generic_category().message(failure));
    }
    co_return std::move(stream);
}

}  // namespace

void tune_socket(int descriptor) {
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

aio::Task<Result<std::unique_ptr<ByteStream>>> connect_stream(aio::Loop& loop, std::string host,
                                                              std::uint16_t port,
                                                              aio::Deadline deadline) {
    const std::string doing = "connect to " + text::host_port(host, port);
    Result<std::vector<Address>> addresses = co_await resolve(loop, host, port, deadline);
    if (!addresses) co_return while_doing(doing, addresses.error());

    Error last = make_error(ErrorCode::Unreachable, "no address");
    std::size_t untried = addresses->size();
    for (const Address& address : *addresses) {
        // Each address gets a share of the remaining time, so that a silent one does not use up the
        // deadline.
        const auto share = aio::Deadline::in(deadline.left() / static_cast<int>(untried--));
        Result<std::unique_ptr<ByteStream>> stream = co_await connect_one(loop, address, share);
        if (stream) co_return std::move(*stream);
        last = stream.error();
        if (last.code == ErrorCode::Cancelled) break;
    }
    co_return while_doing(doing, std::move(last));
}

}  // namespace gpuctl::net
