#pragma once
// Settings of the embedded cluster; filled by the composition root from Config::embedded.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/model/node.hpp"
#include "sim/settings.hpp"

namespace gpuctl::embedded {

// `count` equal nodes named <name>-0, <name>-1, ...
struct NodeGroup {
    std::string name;
    std::int64_t count = 1;
    std::string pool = "default";
    std::string gpu_resource = "nvidia.com/gpu";
    std::string gpu_model;
    std::int64_t gpus = 0;
    std::int64_t cpu_cores = 64;
    std::int64_t memory_gib = 512;
    std::map<std::string, std::string> labels;
    std::int64_t nodes_per_rack = 0;        // 0: racks unknown
    std::vector<std::string> mig_slices{};  // the slices of each GPU; none: whole GPUs
    std::int32_t gpu_replicas = 1;          // the replicas of each shared GPU
};

// Only the engine decides how long finished jobs are stored (policy.finishedJobs...).
inline sim::Settings cluster_of_the_engine() {
    sim::Settings settings;
    settings.finished_job_kept = Duration{};
    settings.drops_details = true;
    return settings;
}

struct EmbeddedSettings {
    std::vector<NodeGroup> nodes;
    sim::Settings cluster = cluster_of_the_engine();  // its label_prefix, seed and times
    TopologyKeys topology_labels;
    std::string cluster_id;  // as in the journal's header (Recovered::cluster_id)
};

// Labelled as an administrator would label real nodes: hostname, pool unless default, GPU type.
std::vector<NodeFacts> make_nodes(const std::vector<NodeGroup>& groups,
                                  const std::string& label_prefix,
                                  const TopologyKeys& topology_labels = {});

}  // namespace gpuctl::embedded
