// The configuration of a client inside a pod: environment and service account files.
#include <cstdlib>

#include "aio/small_file.hpp"
#include "k8s/auth/kubeconfig.hpp"

namespace gpuctl::k8s {

Environment process_environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        const char* value = std::getenv(std::string{name}.c_str());
        if (value == nullptr) return std::nullopt;
        return std::string{value};
    };
}

Result<std::string> read_small_file(const std::string& path, std::string_view key) {
    Result<std::string> text = aio::read_small_file(path);
    if (text) return text;
    return make_error(text.error().code,
                      "read " + std::string{key} + " " + path + ": " + text.error().message);
}

Result<ClusterAccess> in_cluster_access(const Environment& environment, const std::string& root) {
    const auto host = environment("KUBERNETES_SERVICE_HOST");
    const auto port = environment("KUBERNETES_SERVICE_PORT");
    if (!host || !port || host->empty() || port->empty()) {
        return make_error(
            ErrorCode::InvalidConfiguration,
            "the in-cluster configuration cannot be used: KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT are not set, so this is not a pod; name a file in "
            "cluster.kubernetes.kubeconfig");
    }
    ClusterAccess access;
    access.origin = "the service account in " + root;
    const auto bad_variable = [](const char* name, const Error& error) {
        return make_error(ErrorCode::InvalidConfiguration,
                          std::string{"the in-cluster configuration cannot be used: "} + name +
                              " " + error.message);
    };
    auto parsed_host = text::parse_host(*host);  // IPv6 comes without brackets
    if (!parsed_host) return bad_variable("KUBERNETES_SERVICE_HOST", parsed_host.error());
    const auto parsed_port = text::parse_port(*port);
    if (!parsed_port) return bad_variable("KUBERNETES_SERVICE_PORT", parsed_port.error());
    access.server = {true, std::move(*parsed_host), *parsed_port, ""};
    access.ca.file = root + "/ca.crt";
    access.token_file = root + "/token";
    auto namespace_name = read_small_file(root + "/namespace", "service account namespace");
    if (namespace_name) {
        access.namespace_name = std::move(*namespace_name);
        while (!access.namespace_name.empty() && access.namespace_name.back() == '\n') {
            access.namespace_name.pop_back();
        }
    }
    return access;
}

}  // namespace gpuctl::k8s
