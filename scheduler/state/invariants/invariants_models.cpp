#include "scheduler/state/invariants/invariants_models.hpp"

#include <algorithm>

#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/released_usage.hpp"

namespace gpuctl::models {
namespace {

struct Held {
    GpuMilli gpus;
    GpuMilli nominated;  // part of `held`
};

// Held by the jobs of the queue and of the queues below it; none: by all queues of the pool.
Held held_below(const ClusterState& state, QueueId queue, std::string_view model, PoolId pool) {
    const auto counts = [&](const JobRow& job) {
        if (!queue.exists()) return job.queue.exists() && job.pool == pool;
        for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
            if (id == queue) return true;
        }
        return false;
    };
    Held sum;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.priority >= kSystemPriority || !counts(job)) continue;
        const auto add = [&](PodId pod_id) {
            const PodRow& pod = state.pod(pod_id);
            if (!pod.node.exists()) return;
            if (!same_gpu_model(state.node(pod.node).facts.gpu_model, model)) return;
            const GpuMilli gpus = state.pods.shapes().at(pod.shape).gpus;
            sum.gpus += gpus;
            if (pod.bind.state == BindState::nominated) sum.nominated += gpus;
        };
        std::for_each(job.pods.begin(), job.pods.end(), add);
        std::for_each(job.seats.begin(), job.seats.end(), add);
    }
    return sum;
}

}  // namespace

bool is_charged_right(const ClusterState& state, QueueId queue, const ModelHolding& model) {
    const Held held = held_below(state, queue, model.limit.model, PoolId::none());
    return model.held == held.gpus && model.nominated == held.nominated;
}

// What is reserved when the nominated pods are gone equals what is reserved without nominations.
bool agrees_on_reserved(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    ReleasedUsage nominated;
    for (const JobId id : state.nominations.nominated_jobs()) {
        for (const PodId pod : state.job(id).pods) {
            if (state.pod(pod).bind.state == BindState::nominated) nominated.add(state, pod, 1);
        }
    }
    const auto reserved = [&](const ReleasedUsage* gone, limits::Counted counted) {
        return limits::reserved_of_model(state, pool, room.model, QueueId::none(), GpuMilli{}, gone,
                                         counted);
    };
    const GpuMilli expected = reserved(nullptr, limits::Counted::without_nominations);
    return expected == reserved(&nominated, limits::Counted::all) &&
           expected == reserved(&nominated, limits::Counted::without_nominations);
}

bool is_summed_up(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    GpuMilli offered;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known || node.pool != pool) continue;
        if (same_gpu_model(node.facts.gpu_model, room.model)) {
            offered += gpus_total(node.facts.allocatable);
        }
    }
    return room.offered == offered &&
           room.held == held_below(state, QueueId::none(), room.model, pool).gpus;
}

}  // namespace gpuctl::models
