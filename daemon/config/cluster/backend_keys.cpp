// cluster: the backend and a section for each.

#include "daemon/config/keys/tables.hpp"
#include "policy_document/keys.hpp"

namespace gpuctl::config {
namespace {

std::vector<std::pair<std::string_view, ClusterMode>> backend_choices() {
    std::vector<std::pair<std::string_view, ClusterMode>> choices;
    for (std::size_t i = 0; i < kClusterModeNames.size(); ++i) {
        choices.emplace_back(kClusterModeNames[i], static_cast<ClusterMode>(i));
    }
    return choices;
}

// The section of a backend is shown as a comment while another one is chosen.
template <typename Section>
Key<Cluster> backend_section(Section Cluster::* member, ClusterMode mode,
                             std::string_view meaning) {
    Key<Cluster> key = section(to_string(mode), member, meaning);
    key.show = [member, mode](const Cluster& cluster, Shown& shown) {
        shown.form = Shown::Form::map;
        shown.absent = cluster.mode != mode;
        shown.members = show_struct(cluster.*member);
    };
    return key;
}

}  // namespace

template <>
const std::vector<Key<Cluster>>& keys<Cluster>() {
    static const std::vector<Key<Cluster>> table = {
        choice("mode", &Cluster::mode, backend_choices(),
               "embedded (a virtual cluster in the process) or kubernetes"),
        backend_section(&Cluster::kubernetes, ClusterMode::kubernetes,
                        "with mode: kubernetes only"),
        backend_section(&Cluster::embedded, ClusterMode::embedded, "with mode: embedded only"),
    };
    return table;
}

}  // namespace gpuctl::config
