#pragma once
// Sums over the nodes of each pool, for metrics and for lists of pools. They are updated as nodes
// change.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Amounts of GPUs by state, in thousandths of a GPU; each GPU is in one state.
struct GpuStates {
    GpuMilli available;
    GpuMilli allocated;
    GpuMilli reserved;     // free, and nominated or reserved
    GpuMilli maintenance;  // idle, and closed by a window or a cordon
    GpuMilli failed;       // idle on an unhealthy node, or not offered by the machine
    void add(const GpuStates& other, std::int64_t times = 1);
    friend bool operator==(const GpuStates&, const GpuStates&) = default;
};
// Those of a node: what is nominated counts as reserved as far as its victims have terminated.
GpuStates states_of(const ClusterState& state, NodeId node, GpuMilli total, GpuMilli used,
                    GpuMilli nominated);

// The contribution of one node to the sums of its pool. All amounts are in whole GPUs or fractions
// of them.
struct NodeGlance {
    PoolId pool;  // none: the node is unknown and does not count
    GpuMilli total;
    GpuMilli used;  // never more than the total
    GpuMilli nominated;
    GpuMilli excess;  // requested amount beyond what the node offers
    bool has_excess = false;
    bool is_closed = false;  // in maintenance, or reported unhealthy
    bool takes_work = false;
    GpuMilli free;  // free for work; zero if the node takes none
    GpuMilli
        completely_idle;  // completely idle GPUs that work may use; zero if the node takes none
    GpuStates states;
    std::string gpu_model;
    friend bool operator==(const NodeGlance&, const NodeGlance&) = default;
};
NodeGlance glance_at(const ClusterState& state, NodeId node);

// The node accepts ordinary work: it is not cordoned, closed for maintenance, reported unhealthy,
// or tainted against pods without tolerations.
bool takes_work(const ClusterState& state, NodeId node);

struct PoolSum {
    std::int64_t nodes = 0;
    std::int64_t nodes_excess = 0;
    std::int64_t nodes_closed = 0;
    GpuMilli total;
    GpuMilli used;
    GpuMilli free;
    GpuMilli excess;
    GpuStates states;
    std::map<GpuMilli, std::int64_t> nodes_by_idle_gpus;  // only nodes that take work
    struct OfModel {
        std::int64_t gpus = 0;  // number of whole GPUs
        std::int64_t nodes = 0;
        friend bool operator==(const OfModel&, const OfModel&) = default;
    };
    std::map<std::string, OfModel> by_model;
    void count(const NodeGlance& node, std::int64_t sign);
    [[nodiscard]] GpuMilli largest_free() const;
    friend bool operator==(const PoolSum&, const PoolSum&) = default;
};

class PoolSums {
public:
    void put(NodeId node, NodeGlance glance);
    void clear() { *this = {}; }
    [[nodiscard]] const PoolSum& of(PoolId pool) const;

private:
    std::vector<NodeGlance> nodes_;  // by NodeId
    std::vector<PoolSum> pools_;     // by PoolId
};

}  // namespace gpuctl
