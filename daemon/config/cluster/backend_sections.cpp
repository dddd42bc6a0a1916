#include "daemon/config/cluster/backend_sections.hpp"

#include <array>

namespace gpuctl::config {
namespace {

const std::vector<EmbeddedNodes>& embedded_nodes(const Cluster& cluster) {
    return cluster.embedded.nodes;
}

const std::vector<std::string>& embedded_roots(const Cluster& cluster) {
    return cluster.embedded.host_path_roots;
}

const std::vector<std::string>& kubernetes_roots(const Cluster& cluster) {
    return cluster.kubernetes.host_path_roots;
}

constexpr auto kSections = std::to_array<BackendSection>({
    {.mode = ClusterMode::embedded,
     .nodes = embedded_nodes,
     .nodes_key = "cluster.embedded.nodes",
     .host_path_roots = embedded_roots},
    {.mode = ClusterMode::kubernetes,
     .nodes = nullptr,
     .nodes_key = "",
     .host_path_roots = kubernetes_roots},
});

constexpr bool has_a_section_for_each_name() {
    if (kSections.size() != kClusterModeNames.size()) return false;
    for (std::size_t i = 0; i < kSections.size(); ++i) {
        if (static_cast<std::size_t>(kSections[i].mode) != i) return false;
        if ((kSections[i].nodes == nullptr) != kSections[i].nodes_key.empty()) return false;
    }
    return true;
}
static_assert(has_a_section_for_each_name(), "one row per name, in the order of backends.hpp");

}  // namespace

const BackendSection& section_of(ClusterMode mode) {
    return kSections[static_cast<std::size_t>(mode)];
}

const std::vector<EmbeddedNodes>* known_nodes(const Cluster& cluster) {
    const BackendSection& section = section_of(cluster.mode);
    return section.nodes == nullptr ? nullptr : &section.nodes(cluster);
}

std::vector<std::string> host_path_roots(const Cluster& cluster) {
    return section_of(cluster.mode).host_path_roots(cluster);
}

}  // namespace gpuctl::config
