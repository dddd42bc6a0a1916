#include "bench/reads/http_load.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gpuctl::bench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(1);
}

int connect_to(std::uint16_t port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        ::close(descriptor);
        return -1;
    }
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

bool send_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// The answer at the beginning of `text`: its size in bytes; 0: the answer is not complete yet.
struct Answer {
    std::size_t size = 0;
    std::size_t body = 0;
    int status = 0;
};
Answer answer_in(std::string_view text) {
    constexpr std::string_view end = "\r\n\r\n";
    constexpr std::string_view name = "Content-Length: ";
    const std::size_t header = text.find(end);
    if (header == text.npos) return {};
    Answer answer;
    std::from_chars(text.data() + 9, text.data() + 12, answer.status);
    const std::size_t length = text.substr(0, header).find(name);
    if (length != text.npos) {
        const char* from = text.data() + length + name.size();
        std::from_chars(from, text.data() + header, answer.body);
    }
    const std::size_t size = header + end.size() + answer.body;
    if (text.size() < size) return {};
    answer.size = size;
    return answer;
}

struct Connection {
    int descriptor = -1;
    std::size_t stream = 0;
    bool busy = false;
    std::string received;
    Clock::time_point due;
};

class Load {
public:
    Load(std::uint16_t port, const std::vector<Stream>& streams, const Followers* followers)
        : port_(port),
          streams_(streams),
          results_(streams.size()),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            for (std::size_t n = 0; n < streams[i].connections; ++n) add(port, i);
        }
        next_due_.resize(streams.size());
        if (followers == nullptr) return;
        for (const int socket : followers->sockets()) watch(socket, kFollower);
    }
    ~Load() {
        for (const Connection& one : connections_) ::close(one.descriptor);
        ::close(epoll_);
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    std::vector<LoadResult> run(std::chrono::duration<double> length,
                                const std::atomic<bool>* stop = nullptr) {
        const auto begin = Clock::now();
        auto end = begin + std::chrono::duration_cast<Clock::duration>(length);
        constexpr std::chrono::seconds patience{120};
        std::fill(next_due_.begin(), next_due_.end(), begin);
        for (std::size_t i = 0; i < connections_.size(); ++i) offer(i, begin, end);
        while (open_ > 0 || Clock::now() < end) {
            if (Clock::now() > end + patience) break;
            wait(end);
            const auto now = Clock::now();
            if (stop != nullptr && stop->load()) end = std::min(end, now);
            for (std::size_t i = 0; i < connections_.size(); ++i) offer(i, now, end);
        }
        const std::chrono::duration<double> took = Clock::now() - begin;
        for (LoadResult& result : results_) {
            result.seconds = took.count();
            std::sort(result.latencies_ms.begin(), result.latencies_ms.end());
        }
        return std::move(results_);
    }

private:
    static constexpr std::uint32_t kFollower = UINT32_MAX;

    void add(std::uint16_t port, std::size_t stream) {
        Connection one;
        one.descriptor = connect_to(port);
        one.stream = stream;
        if (one.descriptor < 0) give_up("connect");
        watch(one.descriptor, static_cast<std::uint32_t>(connections_.size()));
        connections_.push_back(std::move(one));
    }
    void watch(int descriptor, std::uint32_t as) const {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = (std::uint64_t{as} << 32) | static_cast<std::uint32_t>(descriptor);
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) give_up("epoll_ctl");
    }

    // A server closes idle connections, and a slow stream leaves connections idle. A server that
    // closes a connection in the middle of an answer ends the measurement.
    void reopen(std::uint32_t index, ssize_t got) {
        Connection& one = connections_[index];
        if (got < 0) give_up("recv");
        if (one.busy) {
            std::fputs("the server closed a connection before it had answered\n", stderr);
            std::exit(1);
        }
        ::close(one.descriptor);
        one.descriptor = connect_to(port_);
        if (one.descriptor < 0) give_up("connect again");
        watch(one.descriptor, index);
    }

    // Sends the next request of the stream if one is due.
    void offer(std::size_t index, Clock::time_point now, Clock::time_point end) {
        Connection& one = connections_[index];
        const Stream& stream = streams_[one.stream];
        if (one.busy || now >= end) return;
        one.due = now;
        if (stream.per_second > 0) {
            Clock::time_point& due = next_due_[one.stream];
            if (due > now) return;
            one.due = due;
            due += std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double>(1 / stream.per_second));
        }
        if (!send_all(one.descriptor, stream.next())) give_up("send");
        one.busy = true;
        ++open_;
    }

    void wait(Clock::time_point end) {
        auto until = end;
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            if (streams_[i].per_second > 0) until = std::min(until, next_due_[i]);
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        const int most = Clock::now() >= end ? 1'000 : std::max(0, static_cast<int>(left.count()));
        std::array<epoll_event, 256> events{};
        const int count =
            ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), most);
        for (int i = 0; i < count; ++i) {
            const auto as =
                static_cast<std::uint32_t>(events[static_cast<std::size_t>(i)].data.u64 >> 32);
            const auto descriptor =
                static_cast<int>(events[static_cast<std::size_t>(i)].data.u64 & UINT32_MAX);
            const auto got = ::recv(descriptor, buffer_.data(), buffer_.size(), 0);
            if (got <= 0) {
                if (as == kFollower) {
                    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
                } else {
                    reopen(as, got);
                }
                continue;
            }
            if (as != kFollower) receive_bytes(connections_[as], static_cast<std::size_t>(got));
        }
    }

    void receive_bytes(Connection& one, std::size_t count) {
        one.received.append(buffer_.data(), count);
        const Answer answer = answer_in(one.received);
        if (answer.size == 0) return;
        LoadResult& result = results_[one.stream];
        ++result.answers;
        result.bytes += answer.body;
        if (answer.status / 100 != 2) ++result.refused;
        const std::chrono::duration<double, std::milli> took = Clock::now() - one.due;
        result.latencies_ms.push_back(took.count());
        one.received.erase(0, answer.size);
        one.busy = false;
        --open_;
    }

    std::uint16_t port_;
    const std::vector<Stream>& streams_;
    std::vector<LoadResult> results_;
    std::vector<Connection> connections_;
    std::vector<Clock::time_point> next_due_;
    std::vector<char> buffer_ = std::vector<char>(256u << 10);
    std::size_t open_ = 0;
    int epoll_ = -1;
};

}  // namespace

std::string get_request(const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n";
}

std::string post_request(const std::string& target, const std::string& yaml) {
    return "POST " + target +
           " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/yaml\r\nContent-Length: " +
           std::to_string(yaml.size()) + "\r\n\r\n" + yaml;
}

std::vector<LoadResult> run_load(std::uint16_t port, const std::vector<Stream>& streams,
                                 std::chrono::duration<double> length,
                                 const std::atomic<bool>* stop) {
    return Load{port, streams, nullptr}.run(length, stop);
}

std::vector<LoadResult> run_load(std::uint16_t port, const std::vector<Stream>& streams,
                                 std::chrono::duration<double> length, const Followers& followers) {
    return Load{port, streams, &followers}.run(length);
}

Followers::~Followers() {
    for (const int socket : sockets_) ::close(socket);
}

bool Followers::open(std::uint16_t port, const std::string& target) {
    const int descriptor = connect_to(port);
    if (descriptor < 0) return false;
    const std::string request = "GET " + target +
                                " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: "
                                "websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    std::array<char, 64> answer{};
    const bool sent = send_all(descriptor, request);
    const auto got = sent ? ::recv(descriptor, answer.data(), answer.size(), 0) : 0;
    const std::string_view text{answer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
    if (!text.starts_with("HTTP/1.1 101")) {
        ::close(descriptor);
        return false;
    }
    sockets_.push_back(descriptor);
    return true;
}

std::string fetch(std::uint16_t port, const std::string& target, int& status) {
    status = 0;
    const int descriptor = connect_to(port);
    if (descriptor < 0) return "";
    std::string received;
    std::vector<char> buffer(64u << 10);
    Answer answer;
    if (send_all(descriptor, get_request(target))) {
        while (answer.size == 0) {
            const auto got = ::recv(descriptor, buffer.data(), buffer.size(), 0);
            if (got <= 0) break;
            received.append(buffer.data(), static_cast<std::size_t>(got));
            answer = answer_in(received);
        }
    }
    ::close(descriptor);
    status = answer.status;
    return answer.size == 0 ? "" : received.substr(answer.size - answer.body, answer.body);
}

}  // namespace gpuctl::bench
