// The configuration a pod finds around itself: environment, service account files.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "k8s/kubeconfig.hpp"

namespace gpuctl::k8s {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 1u << 20;

}  // namespace

Environment process_environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        const char* value = std::getenv(std::string{name}.c_str());
        if (value == nullptr) return std::nullopt;
        return std::string{value};
    };
}

Result<std::string> read_small_file(const std::string& path, std::string_view key) {
    const auto fail = [&](std::string_view why) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read " + std::string{key} + " " + path + ": " + std::string{why});
    };
    std::error_code problem;
    if (fs::is_directory(path, problem)) return fail("it is a directory");
    std::ifstream in{path, std::ios::binary};
    if (!in) return fail(std::generic_category().message(errno));
    std::string text;
    std::array<char, 4096> piece{};
    while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > kFileBytesMax) return fail("it is larger than 1 MiB");
    }
    if (in.bad()) return fail("reading failed");
    return text;
}

Result<ClusterAccess> in_cluster_access(const Environment& environment, const std::string& root) {
    const auto host = environment("KUBERNETES_SERVICE_HOST");
    const auto port = environment("KUBERNETES_SERVICE_PORT");
    if (!host || !port || host->empty() || port->empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "use the in-cluster configuration: KUBERNETES_SERVICE_HOST and "
                          "KUBERNETES_SERVICE_PORT are not set, so this is no pod; name a file in "
                          "cluster.kubernetes.kubeconfig");
    }
    ClusterAccess access;
    access.origin = "the service account in " + root;
    access.host = *host;
    access.port = *port;
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
