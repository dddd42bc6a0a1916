#pragma once
// Runs one exec credential plugin (client.authentication.k8s.io): no shell, no terminal, bounded
// output, killed at its deadline. Blocking: for the offload pool.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/auth/kubeconfig.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

struct ExecCredential {
    std::string token;
    std::string certificate_pem;
    std::string key_pem;
    std::optional<std::int64_t> expires_at_ms;  // since 1970 UTC; absent: until a 401
};

// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecPlugin& plugin, const ClusterAccess& access,
                      const std::string& ca_pem);

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output);

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const std::string& info,
                                       std::chrono::milliseconds timeout);

}  // namespace gpuctl::k8s
