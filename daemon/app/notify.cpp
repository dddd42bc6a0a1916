#include "daemon/app/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace gpuctl::app {

void notify_service_manager(std::string_view state) {
    const char* path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): never set
    sockaddr_un address{};
    if (path == nullptr || std::strlen(path) >= sizeof(address.sun_path)) return;
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    std::copy_n(path, length, address.sun_path);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // abstract namespace
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    // Best effort: a service manager that does not listen is no problem of ours.
    static_cast<void>(::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&address), size));
    ::close(socket);
}

}  // namespace gpuctl::app
