#include "unit/k8s/client/scripted_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace gpuctl::test_support {

namespace {

// The next request of a connection; false at its end.
bool read_request(int socket, std::string& buffer, SeenRequest& out) {
    const auto more = [&] {
        char piece[8192];
        const ssize_t got = ::recv(socket, piece, sizeof piece, 0);
        if (got <= 0) return false;
        buffer.append(piece, static_cast<std::size_t>(got));
        return true;
    };
    std::size_t head_end = 0;
    while ((head_end = buffer.find("\r\n\r\n")) == buffer.npos) {
        if (!more()) return false;
    }
    const std::string head = buffer.substr(0, head_end + 2);
    buffer.erase(0, head_end + 4);
    const std::size_t first = head.find(' ');
    const std::size_t second = head.find(' ', first + 1);
    out.method = head.substr(0, first);
    out.target = head.substr(first + 1, second - first - 1);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
        const std::size_t end = head.find("\r\n", at);
        const std::string line = head.substr(at, end - at);
        const std::size_t colon = line.find(':');
        const std::size_t value = line.find_first_not_of(' ', colon + 1);
        out.headers.emplace_back(line.substr(0, colon),
                                 value == line.npos ? "" : line.substr(value));
        at = end + 2;
    }
    const std::string length = out.header("Content-Length");
    const std::size_t size = length.empty() ? 0 : std::strtoul(length.c_str(), nullptr, 10);
    while (buffer.size() < size) {
        if (!more()) return false;
    }
    out.body = buffer.substr(0, size);
    buffer.erase(0, size);
    return true;
}

}  // namespace

std::string SeenRequest::header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), key.size()) == 0) {
            return value;
        }
    }
    return {};
}

bool SeenRequest::has_query(std::string_view name) const {
    return target.find("?" + std::string{name} + "=") != target.npos ||
           target.find("&" + std::string{name} + "=") != target.npos;
}

std::string SeenRequest::query(std::string_view name) const {
    for (const char before : {'?', '&'}) {
        const std::string key = before + std::string{name} + "=";
        const std::size_t at = target.find(key);
        if (at == target.npos) continue;
        const std::size_t from = at + key.size();
        return target.substr(from, std::min(target.find('&', from), target.size()) - from);
    }
    return {};
}

void ScriptedServer::Reply::raw(std::string_view bytes) {
    while (open_ && !bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return cut();
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void ScriptedServer::Reply::respond(int status, std::string_view body,
                                    std::vector<std::pair<std::string, std::string>> headers) {
    std::string text = "HTTP/1.1 " + std::to_string(status) +
                       " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    raw(text + "\r\n" + std::string{body});
}

void ScriptedServer::Reply::begin_chunked(int status) {
    raw("HTTP/1.1 " + std::to_string(status) +
        " X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void ScriptedServer::Reply::chunk(std::string_view bytes) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    raw(size + std::string{bytes} + "\r\n");
}

void ScriptedServer::Reply::end_chunked() { raw("0\r\n\r\n"); }

void ScriptedServer::Reply::cut() {
    open_ = false;
    ::shutdown(socket_, SHUT_RDWR);
}

void ScriptedServer::Reply::stall() {
    char ignored[256];
    while (open_ && ::recv(socket_, ignored, sizeof ignored, 0) > 0) {
    }
    open_ = false;
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
        throw std::runtime_error("scripted server: no port");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread{[this] { accept_all(); }};
}

ScriptedServer::~ScriptedServer() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
    for (const int socket : sockets_) ::close(socket);
}

void ScriptedServer::accept_all() {
    for (int number = 1;; ++number) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        const int yes = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        const std::lock_guard lock{mutex_};
        sockets_.push_back(socket);
        if (stopping_) return;
        threads_.emplace_back([this, socket, number] { serve(socket, number); });
    }
}

void ScriptedServer::serve(int socket, int number) {
    std::string buffer;
    for (;;) {
        SeenRequest request;
        if (!read_request(socket, buffer, request)) break;
        request.connection = number;
        {
            const std::lock_guard lock{mutex_};
            received_.push_back(request);
        }
        Reply reply{socket};
        script_(request, reply);
        if (!reply.open_) break;
    }
    ::shutdown(socket, SHUT_RDWR);
}

std::vector<SeenRequest> ScriptedServer::received() const {
    const std::lock_guard lock{mutex_};
    return received_;
}

}  // namespace gpuctl::test_support
