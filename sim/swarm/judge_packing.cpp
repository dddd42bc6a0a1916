// I24: a pod without GPUs leaves no idle GPU without a pod slot while another node would take it.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

// The last pod slots of the node are those of its idle GPUs.
bool Judge::takes_slot_of_gpu(const NodeFacts& node) const {
    const std::int64_t has = amounts_of(node.allocatable).gpus;
    const std::int64_t idle = std::max<std::int64_t>(has - books_.devices_on(node.name).taken(), 0);
    return books_.room_on(node).slots * kGpuMilliPerGpu <= idle;
}

// Room that is kept for others is no room, and which it was at the moment of the decision is not
// known here: worlds with any are left out, and so are parts of GPUs.
void Judge::check_packing(const BindPod& bind, const BookedPod& pod, const ClusterState& after) {
    const PlacementRules& rules = pod.facts.rules;
    const JobRow& job = after.job(after.find_job(job_of(pod.facts)));
    const PoolRow& pool = after.pool(job.pool);
    const Amounts request = amounts_of(pod.facts.request);
    if (request.gpus > 0 || books_.gang_of(job_of(pod.facts)).size > 1) return;
    if (rules.topology.any() || !rules.gpu_models_next.empty()) return;
    if (pool.promise.job.exists() || !after.claims().empty()) return;
    if (after.capacity().has_parts()) return;
    ++probes.packings_judged;
    if (!takes_slot_of_gpu(books_.nodes.at(bind.node))) return;
    ++probes.slots_taken_from_gpus;
    for (const auto& [name, node] : books_.nodes) {
        if (node.pool != pool.name || !books_.admits(node, pod.facts)) continue;
        if (takes_slot_of_gpu(node) || books_.fitting(node, request, 1) < 1) continue;
        const Shape& shape = after.shapes().at(after.pod(after.find_pod(bind.pod.uid)).shape);
        if (!after.capacity().fits(after.find_node(name).value(), shape.needs)) continue;
        fail("I24", "bind of " + to_string(bind.pod.key) + " to " + bind.node +
                        ": it leaves an idle GPU there without a pod slot, and " + name +
                        " has room");
    }
}

}  // namespace gpuctl::sim
