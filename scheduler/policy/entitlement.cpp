#include "scheduler/policy/entitlement.hpp"

#include "scheduler/queue/division.hpp"

namespace gpuctl {
namespace {

using Entitlements = std::map<QueueId, Entitlement>;

GpuMilli gpus_waiting(const ClusterState& state, QueueId queue) {
    GpuMilli sum;
    for (const ClassId id : state.book().of_queue(queue)) {
        for (const WaitingJob& waiting : state.book().at(id).jobs) {
            for (const PodId pod_id : state.job(waiting.job).pods) {
                const PodRow& pod = state.pod(pod_id);
                if (pod.standing != PodStanding::waiting || pod.facts.terminating) continue;
                sum += state.shapes().at(pod.shape).gpus;
            }
        }
    }
    return sum;
}

// What a queue could use: no more than its own cap, nor than its sub-queues may.
GpuMilli read_demand(const ClusterState& state, QueueId id, Entitlements& out) {
    const QueueRow& queue = state.queue(id);
    Entitlement& own = out[id];
    own.held = queue.account.held.gpus;
    own.demand = queue.direct.gpus + gpus_waiting(state, id);
    for (const QueueId child : queue.children) own.demand += read_demand(state, child, out);
    own.demand = std::max(own.held, std::min(own.demand, queue.cap().value_or(own.demand)));
    return own.demand;
}

void divide_among(const ClusterState& state, GpuMilli whole, const std::vector<QueueId>& queues,
                  Entitlements& out) {
    std::vector<Claim> claims;
    for (const QueueId id : queues) {
        const QueueRow& queue = state.queue(id);
        const std::int64_t demand = out.at(id).demand.value();
        const auto cap = queue.cap();
        claims.push_back({queue.weight, queue.guaranteed_now().value(), demand,
                          cap ? cap->value() : std::max(whole.value(), demand)});
    }
    const std::vector<std::int64_t> parts = divide(whole.value(), claims);
    for (std::size_t i = 0; i < queues.size(); ++i) {
        out.at(queues[i]).entitled = GpuMilli{parts[i]};
        divide_among(state, GpuMilli{parts[i]}, state.queue(queues[i]).children, out);
    }
}

}  // namespace

std::map<QueueId, Entitlement> entitlements(const ClusterState& state, PoolId pool) {
    Entitlements out;
    const PoolRow& row = state.pool(pool);
    for (const QueueId root : row.roots) read_demand(state, root, out);
    divide_among(state, row.offered.gpus, row.roots, out);
    return out;
}

}  // namespace gpuctl
