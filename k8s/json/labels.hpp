#pragma once
// Our label and annotation names. One configurable prefix is written; the prefixes of earlier
// products are only read.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/model/job/topology.hpp"

namespace gpuctl::k8s {

enum class OwnKey : std::uint8_t {
    none,
    pool,
    queue,
    job_type,
    priority,
    name,
    namespace_name,
    gpu_type,  // label of a node, label or annotation of a pod; there also a list: "H100,A100"
    gang,
    gang_min,
    gang_role,   // label of a pod: "worker"
    gang_roles,  // annotation on every pod of the gang: "leader=1,worker=4"
    gang_attempt,
    epoch,
    port,
    description,
    source,
    job_uid,
    preemptible,
    checkpoint_interval_seconds,
    restart_cost_seconds,
    gpu_fraction,       // annotation on a pod: "0.5"
    gpu_memory,         // annotation in addition to it or instead: "20Gi" of the GPU's memory
    gpu_resource,       // annotation in addition to it: the resource; without it NVIDIA's
    gpu_device,         // annotation written with the binding: the indices of the node's GPUs
    gpu_sharing,        // label and taint of nodes that serve fractions of GPUs
    required_topology,  // annotations on a pod: a level, or the node label that names its domains
    preferred_topology,
    topology_spread,
    health,  // label or annotation of a node: "failed"
    drain    // label of a node that is being emptied: "true"
};

std::string_view suffix_of(OwnKey key);

// Those of earlier products.
std::span<const std::string_view> old_label_prefixes();

class LabelKeys {
public:
    LabelKeys() : LabelKeys("runwhere.ai") {}
    explicit LabelKeys(std::string prefix, TopologyKeys topology = {},
                       std::vector<std::string> unhealthy_conditions = {},
                       std::int32_t gpu_replicas = 1)
        : prefix_(std::move(prefix)),
          topology_(std::move(topology)),
          unhealthy_conditions_(std::move(unhealthy_conditions)),
          gpu_replicas_(gpu_replicas) {}

    // prefix/suffix
    [[nodiscard]] std::string text(OwnKey key) const;

    struct Found {
        OwnKey key = OwnKey::none;
        bool old_prefix = false;  // a value under the current prefix wins over it
    };
    [[nodiscard]] Found recognise(std::string_view key) const;

    // The node labels that name racks and other topology domains.
    [[nodiscard]] const TopologyKeys& topology() const { return topology_; }
    [[nodiscard]] const std::string& prefix() const { return prefix_; }
    // Conditions of nodes that are True when the node is unhealthy.
    [[nodiscard]] const std::vector<std::string>& unhealthy_conditions() const {
        return unhealthy_conditions_;
    }
    // The replicas of a shared GPU that make up one GPU, where no label has the count.
    [[nodiscard]] std::int32_t gpu_replicas() const { return gpu_replicas_; }

private:
    std::string prefix_;
    TopologyKeys topology_;
    std::vector<std::string> unhealthy_conditions_;
    std::int32_t gpu_replicas_ = 1;
};

// Keeps the value under today's prefix when both are present, in either order.
struct OwnValue {
    std::string_view text;
    bool old_prefix = true;
    void offer(std::string_view value, bool from_old_prefix) {
        if (from_old_prefix && !old_prefix) return;
        text = value;
        old_prefix = from_old_prefix;
    }
};

// A label value as Kubernetes accepts it: at most 63 of [A-Za-z0-9._-], alphanumeric at both ends.
bool is_label_value(std::string_view text);

}  // namespace gpuctl::k8s
