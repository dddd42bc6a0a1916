#include "daemon/embedded/settings.hpp"

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::embedded {

namespace {

constexpr std::int64_t kPodsPerNode = 110;  // the kubelet's default

// As their device plugin would: cut ones by slices (strategy mixed), shared ones by replicas.
void offer_gpus(const NodeGroup& group, std::vector<GpuAmount>& offered) {
    std::map<std::string, std::int64_t> slices;
    for (const std::string& profile : group.mig_slices) slices[mig_resource(profile)] += group.gpus;
    for (const auto& [resource, count] : slices) offered.push_back({resource, whole_gpus(count)});
    if (!slices.empty()) return;
    if (group.gpu_replicas > 1) {
        offered.push_back({std::string{gpu_vendors()[0].shared_resource},
                           whole_gpus(group.gpus * group.gpu_replicas),
                           {1, group.gpu_replicas}});
    } else {
        offered.push_back({group.gpu_resource, whole_gpus(group.gpus)});
    }
}

NodeFacts make_node(const NodeGroup& group, std::int64_t number, const std::string& label_prefix,
                    const TopologyKeys& topology_labels) {
    NodeFacts node;
    node.name = group.name + "-" + std::to_string(number);
    node.pool = group.pool.empty() ? "default" : group.pool;
    node.gpu_model = group.gpu_model;
    node.address = "embedded";
    node.allocatable.cpu = CpuMilli{1'000} * group.cpu_cores;
    node.allocatable.memory = Bytes{std::int64_t{1} << 30} * group.memory_gib;
    node.allocatable.pods = kPodsPerNode;
    if (group.gpus > 0) offer_gpus(group, node.allocatable.gpus);
    node.labels = group.labels;
    node.labels["kubernetes.io/hostname"] = node.name;
    if (node.pool != "default") node.labels[label_prefix + "/pool"] = node.pool;
    if (!group.gpu_model.empty()) node.labels[label_prefix + "/gpu-type"] = group.gpu_model;
    if (group.nodes_per_rack > 0) {
        node.labels[label_prefix + "/rack"] =
            group.name + "-rack-" + std::to_string(number / group.nodes_per_rack);
    }
    const auto health = node.labels.find(label_prefix + "/health");
    if (health != node.labels.end() && health->second == "failed") {
        node.unhealthy = "marked as failed";
    }
    node.topology = topology_of(node.name, node.labels, label_prefix, topology_labels);
    return node;
}

}  // namespace

std::vector<NodeFacts> make_nodes(const std::vector<NodeGroup>& groups,
                                  const std::string& label_prefix,
                                  const TopologyKeys& topology_labels) {
    std::vector<NodeFacts> nodes;
    for (const NodeGroup& group : groups) {
        for (std::int64_t i = 0; i < group.count; ++i) {
            nodes.push_back(make_node(group, i, label_prefix, topology_labels));
        }
    }
    return nodes;
}

}  // namespace gpuctl::embedded
