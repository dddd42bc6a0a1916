// I24: a pod without GPUs leaves no idle GPU without a pod slot while another node would take it.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

// True if the last pod slots of the node are needed for its idle GPUs.
bool Checker::takes_slot_of_gpu(const NodeFacts& node) const {
    const std::int64_t has = amounts_of(node.allocatable).gpus;
    const std::int64_t idle =
        std::max<std::int64_t>(has - reference_.devices_on(node.name).in_use(), 0);
    return reference_.free_on(node).slots * kGpuMilliPerGpu <= idle;
}

// Reserved capacity is no room, and its nodes at the time of the decision are not known here. So
// worlds with reservations are left out, and so are fractions of GPUs.
void Checker::check_packing(const BindPod& bind, const ReferencePod& pod,
                            const ClusterState& after) {
    const PlacementRules& rules = pod.facts.rules;
    const JobRow& job = after.job(after.jobs.find_job(job_of(pod.facts)));
    const PoolRow& pool = after.pool(job.pool);
    const Amounts request = amounts_of(pod.facts.request);
    if (request.gpus > 0 || reference_.gang_of(job_of(pod.facts)).size > 1) return;
    if (rules.topology.any() || !rules.gpu_models_next.empty()) return;
    if (pool.reservations.head.job.exists() || !after.nominations.nominated_jobs().empty()) return;
    if (after.nodes.capacity().has_parts()) return;
    ++probes.packings_checked;
    if (!takes_slot_of_gpu(reference_.nodes.at(bind.node))) return;
    ++probes.slots_taken_from_gpus;
    for (const auto& [name, node] : reference_.nodes) {
        if (node.pool != pool.name || !reference_.admits(node, pod.facts)) continue;
        if (takes_slot_of_gpu(node) || reference_.fitting(node, request, 1) < 1) continue;
        const Shape& shape =
            after.pods.shapes().at(after.pod(after.pods.find_pod(bind.pod.uid)).shape);
        if (!after.nodes.capacity().fits(after.nodes.find_node(name).value(), shape.needs))
            continue;
        fail("I24", "bind of " + to_string(bind.pod.key) + " to " + bind.node +
                        ": it leaves an idle GPU there without a pod slot, and " + name +
                        " has room");
    }
}

}  // namespace gpuctl::sim
