// Whose guarantees hold where they hold only for queues that want no more than theirs
// (PreemptionPolicy::guarantees, docs/adr/0018).

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

GpuMilli waiting_below(const ClusterState& state, QueueId id) {
    GpuMilli sum = state.queue(id).waiting;
    for (const QueueId child : state.queue(id).children) sum += waiting_below(state, child);
    return sum;
}

}  // namespace

std::vector<QueueId> ClusterState::with_new_demand() const {
    std::vector<QueueId> out;
    for (const auto& [name, id] : pool_ids_) {
        const PoolRow& pool = pools_[id.value()];
        if (pool.preemption.guarantees == GuaranteeRule::always) continue;
        for (const QueueId queue_id : pool.queues) {
            const QueueRow& queue = queues_[queue_id.value()];
            const GpuMilli demand = queue.account.held.gpus + waiting_below(*this, queue_id);
            const bool is_beyond = queue.guaranteed > GpuMilli{} && demand > queue.guaranteed;
            if (is_beyond != queue.is_beyond_guarantee) out.push_back(queue_id);
        }
    }
    return out;
}

void ClusterState::note_demand() {
    for (const QueueId id : with_new_demand()) {
        QueueRow& queue = queues_[id.value()];
        queue.is_beyond_guarantee = !queue.is_beyond_guarantee;
        if (planted(PlantedBug::forget_new_demand)) continue;
        ++queue.shrinks;                       // those of it may take back what it lent
        ++pools_[queue.pool.value()].victims;  // those beside it may take what it holds
    }
}

}  // namespace gpuctl
