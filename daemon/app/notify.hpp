#pragma once
// Reports our state to systemd: one datagram to $NOTIFY_SOCKET. Does nothing when it is not set.

#include <string_view>

namespace gpuctl::app {

void notify_service_manager(std::string_view state);  // "READY=1", "STOPPING=1", "STATUS=..."

}  // namespace gpuctl::app
