#pragma once
// What the nodes of a pool say about their network, and the variables of the vendors' collective
// libraries (NCCL, RCCL, HCCL) that follow from it. A job is created before its pods have nodes, so
// only what holds for every node that its pods may get is used; otherwise the library looks itself.
//
//   PREFIX/network-interface   the interface of the pods' traffic: "eth1"
//   PREFIX/rdma-devices        devices for RDMA, separated by dots: "mlx5_0.mlx5_1"
//   PREFIX/nvlink              "true", "false"; without it the model in nvidia.com/gpu.product
//
// Owner, thread: NodeFeed's, the loop's.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s/json/labels.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/node.hpp"

namespace gpuctl::k8s {

// Of one node, or what all nodes of a job have in common.
struct NetworkFacts {
    std::set<std::string> interfaces;
    std::set<std::string> rdma_devices;
    bool has_nvlink = false;
};

NetworkFacts network_facts(const NodeFacts& node, const std::string& prefix);

class Networks {
public:
    void set(const NodeFacts& node, const std::string& prefix);
    void erase(const std::string& node) { nodes_.erase(node); }
    // What every node has that the job's pods may get: of its pool, with GPUs of its models.
    [[nodiscard]] NetworkFacts of(const JobSpec& spec) const;

private:
    struct Node {
        std::string pool;
        std::string gpu_model;
        NetworkFacts facts;
    };
    std::map<std::string, Node> nodes_;  // by name; those with GPUs
};

// Names and values, in the order in which they are offered. Only for jobs of several GPUs.
std::vector<std::pair<std::string, std::string>> network_variables(const JobSpec& spec,
                                                                   const NetworkFacts& facts);

}  // namespace gpuctl::k8s
