// Nodes, racks and faults of the virtual cluster.

#include "sim/swarm/options.hpp"

namespace gpuctl::sim {

NodeFacts draw_node(Rng& rng, std::int64_t number) {
    NodeFacts node;
    node.name = "node-" + std::to_string(number);
    node.pool = rng.chance(1, 3) ? "training" : "default";
    // Sometimes the label is missing, so that jobs of the pool do not match the node.
    if (node.pool != "default" && !rng.chance(1, 8)) node.labels["runwhere.ai/pool"] = node.pool;
    node.gpu_model = kModels[rng.below(2)];
    node.allocatable.cpu = CpuMilli{rng.between(4'000, 64'000)};
    node.allocatable.memory = Bytes{rng.between(8, 512) << 30};
    node.allocatable.pods = rng.between(4, rng.chance(1, 3) ? 8 : 110);
    node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(rng.between(1, 8))}};
    return node;
}

Faults draw_faults(Rng& rng) {
    const auto sometimes = [&rng](std::int64_t most) {
        return rng.chance(1, 2) ? rng.between(0, most) : 0;
    };
    Faults faults;
    faults.bind_failed_per_mille = sometimes(rng.chance(1, 3) ? 800 : 300);
    faults.bind_unanswered_per_mille = sometimes(200);
    faults.create_failed_per_mille = sometimes(300);
    faults.delete_failed_per_mille = sometimes(600);
    faults.eviction_refused_per_mille = sometimes(500);
    faults.container_failed_per_mille = sometimes(200);
    return faults;
}

void put_in_racks(Rng& rng, std::vector<NodeFacts>& nodes) {
    const std::int64_t racks = rng.between(1, 3);
    const bool has_blocks = rng.chance(1, 2);
    for (NodeFacts& node : nodes) {
        if (rng.chance(1, 8)) continue;  // no known rack
        const std::int64_t rack = rng.between(0, racks - 1);
        node.topology.rack = "rack-" + std::to_string(rack);
        if (has_blocks) node.topology.block = "block-" + std::to_string(rack % 2);
        if (rng.chance(1, 2)) {
            node.topology.nvlink = "island-" + std::to_string(2 * rack + rng.between(0, 1));
        }
    }
}

NodeFacts draw_change(Rng& rng, NodeFacts node) {
    switch (rng.below(4)) {
        case 0: {
            const std::int64_t gpus = rng.between(0, 8);
            node.allocatable.gpus.clear();
            if (gpus > 0) node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(gpus)}};
            break;
        }
        case 1:
            node.allocatable.cpu = CpuMilli{rng.between(1'000, 64'000)};
            node.allocatable.pods = rng.between(2, 20);
            break;
        case 2:
            node.gpu_model = kModels[rng.below(2)];
            break;
        default:
            // Sets the flag without its taint, which the node controller adds later.
            node.unschedulable = !node.unschedulable;
    }
    return node;
}

}  // namespace gpuctl::sim
