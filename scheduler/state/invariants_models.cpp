#include "scheduler/state/invariants_models.hpp"

#include <algorithm>

namespace gpuctl::models {

GpuMilli held_below(const ClusterState& state, QueueId queue, std::string_view model, PoolId pool) {
    const auto counts = [&](const JobRow& job) {
        if (!queue.exists()) return job.queue.exists() && job.pool == pool;
        for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
            if (id == queue) return true;
        }
        return false;
    };
    GpuMilli sum;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.priority >= kSystemPriority || !counts(job)) continue;
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state.pod(pod_id);
            if (!pod.node.exists()) continue;
            if (!same_gpu_model(state.node(pod.node).facts.gpu_model, model)) continue;
            sum += state.shapes().at(pod.shape).gpus;
        }
    }
    return sum;
}

bool is_summed_up(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    GpuMilli offered;
    for (const auto& [name, id] : state.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known || node.pool != pool) continue;
        if (same_gpu_model(node.facts.gpu_model, room.model)) {
            offered += gpus_total(node.facts.allocatable);
        }
    }
    return room.offered == offered &&
           room.held == held_below(state, QueueId::none(), room.model, pool);
}

}  // namespace gpuctl::models
