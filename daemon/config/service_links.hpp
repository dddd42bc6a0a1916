#pragma once
// Variables that a kubelet adds to every container for each Service of its namespace (service
// links), and Docker for each linked container. For a Service `gpuctld` they begin with GPUCTLD_,
// as the variables of our keys do; a Service `gpuctld-server` even gives GPUCTLD_SERVER_PORT.
//
//   GPUCTLD_SERVICE_HOST=10.0.0.7   GPUCTLD_SERVICE_PORT=443   GPUCTLD_SERVICE_PORT_HTTPS=443
//   GPUCTLD_PORT=tcp://10.0.0.7:443   GPUCTLD_PORT_443_TCP=tcp://10.0.0.7:443
//   GPUCTLD_PORT_443_TCP_PROTO=tcp   GPUCTLD_PORT_443_TCP_PORT=443
//   GPUCTLD_PORT_443_TCP_ADDR=10.0.0.7
//
// The name alone decides only where no mistyped key can look like it; otherwise the value does
// (tcp://HOST:PORT), or that the variables which always come together are all there.

#include <map>
#include <string>
#include <string_view>

namespace gpuctl::config {

bool is_service_link(std::string_view name, std::string_view value,
                     const std::map<std::string, std::string>& environment);

}  // namespace gpuctl::config
