#include "cli/listing/kinds.hpp"

#include <algorithm>
#include <array>

namespace gpuctl::cli {

std::span<const ListedKind> listed_kinds() {
    static const std::array kinds{jobs_kind(),          pools_kind(),  nodes_kind(),
                                  queues_kind(),        events_kind(), quotas_kind(),
                                  namespaces_kind(),    labels_kind(), label_values_kind(),
                                  labels_of_node_kind()};
    return kinds;
}

const ListedKind& listed_kind(std::string_view name) {
    const std::span<const ListedKind> kinds = listed_kinds();
    return *std::find_if(kinds.begin(), kinds.end(),
                         [&](const ListedKind& kind) { return kind.name == name; });
}

}  // namespace gpuctl::cli
