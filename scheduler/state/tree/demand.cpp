// Which guarantees hold, in pools where a guarantee holds only while the queue's demand fits it
// (PreemptionPolicy::guarantees, docs/adr/0018).

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

GpuMilli waiting_below(const ClusterState& state, QueueId id) {
    GpuMilli sum = state.queue(id).waiting;
    for (const QueueId child : state.queue(id).children) sum += waiting_below(state, child);
    return sum;
}

// By QueueId: GPUs of terminating pods of the pool. Their replacements wait already and would count
// twice.
std::vector<GpuMilli> terminating_below(const ClusterState& state, PoolId pool) {
    std::vector<PodId> terminating;
    state.pods.read_terminating(pool, terminating);
    std::vector<GpuMilli> out;
    if (has_fault(SeededFault::count_terminating_in_order)) return out;
    for (const PodId id : terminating) {
        const PodRow& pod = state.pod(id);
        if (!pod.job.exists() || state.job(pod.job).priority >= kSystemPriority) continue;
        for (QueueId up = state.job(pod.job).queue; up.exists(); up = state.queue(up).parent) {
            if (out.size() <= up.value()) out.resize(up.value() + 1);
            out[up.value()] += state.pods.shapes().at(pod.shape).gpus;
        }
    }
    return out;
}

}  // namespace

std::vector<QueueId> QueueTree::with_new_demand() const {
    std::vector<QueueId> out;
    for (const auto& [name, id] : pool_ids_) {
        const PoolRow& pool = pools_[id.value()];
        if (pool.preemption.guarantees == GuaranteeRule::always) continue;
        const std::vector<GpuMilli> terminating = terminating_below(state_, id);
        for (const QueueId queue_id : pool.queues) {
            const QueueRow& queue = queues_[queue_id.value()];
            GpuMilli demand = queue.account.held.gpus + waiting_below(state_, queue_id);
            if (queue_id.value() < terminating.size())
                demand = demand - terminating[queue_id.value()];
            const bool is_beyond = queue.guaranteed > GpuMilli{} && demand > queue.guaranteed;
            if (is_beyond != queue.is_beyond_guarantee) out.push_back(queue_id);
        }
    }
    return out;
}

void QueueTree::note_demand() {
    for (const QueueId id : with_new_demand()) {
        QueueBase& queue = queues_.base(id, {});
        queue.is_beyond_guarantee = !queue.is_beyond_guarantee;
        if (has_fault(SeededFault::forget_new_demand)) continue;
        ++queue.shrinks;           // its jobs may reclaim what it lent
        note_victims(queue.pool);  // other queues may reclaim what it holds
    }
}

}  // namespace gpuctl
