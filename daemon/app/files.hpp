#pragma once
// The files that the configuration names, and what is said of one that is no good.

#include <string>

#include "daemon/aio/loop.hpp"
#include "daemon/config/config.hpp"
#include "daemon/net/http_server.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::app {

Result<net::ServerTls> read_tls(const config::TlsFiles& files);

// What a start reads besides the configuration itself: tokens, certificates, the kubeconfig. Opens
// neither the network nor the journal.
Result<void> check_files(const config::Config& config);
// Its half that knows Kubernetes (kubernetes.cpp). Without a kubeconfig the service account of a
// pod is meant, which only that pod can read.
Result<void> check_cluster_files(aio::Loop& loop, const config::Config& config);

// The error and each of its details once, a line each.
std::string told(const Error& error);

}  // namespace gpuctl::app
