// Names in the cluster.

#include "daemon/config/tables.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<TopologyKeys>>& keys<TopologyKeys>() {
    static const std::vector<Key<TopologyKeys>> table = {
        texts("host", &TopologyKeys::host, "the machine; without any, each node is its own"),
        texts("nvlink", &TopologyKeys::nvlink, "the NVLink island"),
        texts("rack", &TopologyKeys::rack, "the rack, in its block"),
        texts("block", &TopologyKeys::block, "the block of racks"),
    };
    return table;
}

template <>
const std::vector<Key<Names>>& keys<Names>() {
    static const std::vector<Key<Names>> table = {
        text("labelPrefix", &Names::label_prefix, "of every label and annotation of ours"),
        section("topologyLabels", &Names::topology_labels,
                "labels of nodes that say where they stand; <labelPrefix>/rack and so on come "
                "before these"),
        texts(
            "unhealthyConditions", &Names::unhealthy_conditions,
            "conditions of nodes that are True when a node is unhealthy, as is one with the label "
            "or annotation <labelPrefix>/health: failed"),
        count("gpuReplicas", &Names::gpu_replicas, 1, 1'000,
              "so many shares, n(vgpu) or nvidia.com/gpu.shared, count as one GPU; of a node its "
              "label nvidia.com/gpu.replicas says it"),
    };
    return table;
}

}  // namespace gpuctl::config
