#include <array>

#include "daemon/app/backend.hpp"

namespace gpuctl::app {
namespace {

using config::ClusterMode;

constexpr auto kBackends = std::to_array<BackendRow>({
    {.mode = ClusterMode::embedded,
     .make = make_embedded_backend,
     .file_key = nullptr,
     .files_can_be_checked = nullptr,
     .acknowledges_in_cluster = false,
     .lists_all_objects = false},
    {.mode = ClusterMode::kubernetes,
     .make = make_kubernetes_backend,
     .file_key = "cluster.kubernetes.kubeconfig",
     .files_can_be_checked = kubernetes_files_can_be_checked,
     .acknowledges_in_cluster = true,
     .lists_all_objects = true},
});

constexpr bool has_a_row_for_each_name() {
    if (kBackends.size() != config::kClusterModeNames.size()) return false;
    for (std::size_t i = 0; i < kBackends.size(); ++i) {
        if (static_cast<std::size_t>(kBackends[i].mode) != i) return false;
    }
    return true;
}
static_assert(has_a_row_for_each_name(), "one row per name, in the order of backends.hpp");

}  // namespace

const BackendRow& backend_of(ClusterMode mode) { return kBackends[static_cast<std::size_t>(mode)]; }

}  // namespace gpuctl::app
