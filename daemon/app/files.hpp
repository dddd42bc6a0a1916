#pragma once
// The files that the configuration names, and the errors about them.

#include <string>

#include "aio/loop.hpp"
#include "daemon/api/http/auth.hpp"
#include "daemon/config/config.hpp"
#include "net/http/http_server.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::app {

// Both name the key of a file that cannot be used.
Result<void> load_tokens(const config::Config& config, api::TokenStore& tokens);
Result<net::ServerTls> read_tls(const config::Config& config);  // it has server.tls

// Reads the files of a start besides the configuration: tokens, certificates, the kubeconfig. Opens
// neither the network nor the journal.
Result<void> check_files(const config::Config& config);

// The error and each of its details once, a line each.
std::string error_lines(const Error& error);

}  // namespace gpuctl::app
