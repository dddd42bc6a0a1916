// The keys of names in the cluster.

#include "daemon/config/keys/tables.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<TopologyKeys>>& keys<TopologyKeys>() {
    static const std::vector<Key<TopologyKeys>> table = {
        texts("host", &TopologyKeys::host, "the machine; without any, each node is one"),
        texts("nvlink", &TopologyKeys::nvlink, "the NVLink island"),
        texts("rack", &TopologyKeys::rack, "the rack, in its block"),
        texts("block", &TopologyKeys::block, "the block of racks"),
    };
    return table;
}

template <>
const std::vector<Key<Names>>& keys<Names>() {
    static const std::vector<Key<Names>> table = {
        text("labelPrefix", &Names::label_prefix, "prefix of every label and annotation of gpuctl"),
        section(
            "topologyLabels", &Names::topology_labels,
            "node labels with the node's topology; <labelPrefix>/rack and so on come before these"),
        texts("unhealthyConditions", &Names::unhealthy_conditions,
              "node conditions that are True when a node is unhealthy; a node with the label or "
              "annotation <labelPrefix>/health: failed is unhealthy, too"),
        count("gpuReplicas", &Names::gpu_replicas, 1, 1'000,
              "number of shares, n(vgpu) or nvidia.com/gpu.shared, that count as one GPU; a node's "
              "label nvidia.com/gpu.replicas wins over it"),
        text("vendorsFile", &Names::vendors_file,
             "table of GPU vendors, read at start, that replaces the built-in one, which is "
             "config/vendors.yaml; \"\": the built-in one"),
        text_map("allowedVariables", &Names::allowed_variables,
                 "by pool, or \"*\" for every pool: names, separated by spaces, of variables that "
                 "choose devices or load code and that jobs may set there all the same"),
    };
    return table;
}

}  // namespace gpuctl::config
