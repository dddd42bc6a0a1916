#include "scheduler/state/invariants/invariants_ports.hpp"

#include <map>

namespace gpuctl {

std::vector<std::string> wrong_host_ports(const ClusterState& state, NodeId node) {
    const Capacity& capacity = state.nodes.capacity();
    const NodeRow& row = state.node(node);
    std::map<Column, std::int64_t> held;
    for (const PodId pod : row.pods) {
        for (const Need& need : state.pods.shapes().at(state.pod(pod).shape).needs) {
            if (is_host_port(need.column)) held[need.column] += need.amount;
        }
    }
    std::vector<std::string> wrong;
    for (const auto& [column, amount] : held) {
        if (capacity.free(column, node.value()) == HostPorts::kWholePort - amount) continue;
        wrong.push_back("port " + capacity.resource(column) + " of node " + row.facts.name +
                        " is not what its pods leave");
    }
    return wrong;
}

std::vector<std::string> wrong_resource_counts(const ClusterState& state) {
    Outside recounted;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& row = state.node(id);
        if (row.known && row.pool.exists()) recounted.note_node(row.pool, row.facts, 1);
    }
    if (recounted.counted == state.nodes.outside().counted) return {};
    return {"the nodes that count a resource are not those that are known"};
}

}  // namespace gpuctl
