// Whose guarantees hold where they hold only for queues that want no more than theirs
// (PreemptionPolicy::guarantees, docs/adr/0018).

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

GpuMilli ClusterState::demand(QueueId id) const {
    const QueueRow& queue = queues_[id.value()];
    // What children hold is in the account, what they wait for is not.
    GpuMilli sum = queue.account.held.gpus + queue.waiting;
    for (const QueueId child : queue.children) {
        sum += demand(child) - queues_[child.value()].account.held.gpus;
    }
    return sum;
}

bool ClusterState::note_demand() {
    bool has_changed = false;
    for (const auto& [name, id] : pool_ids_) {
        PoolRow& pool = pools_[id.value()];
        if (pool.preemption.guarantees == GuaranteeRule::always) continue;
        for (const QueueId queue_id : pool.queues) {
            QueueRow& queue = queues_[queue_id.value()];
            const bool is_beyond =
                queue.guaranteed > GpuMilli{} && demand(queue_id) > queue.guaranteed;
            if (is_beyond == queue.is_beyond_guarantee) continue;
            queue.is_beyond_guarantee = is_beyond;
            has_changed = true;
            if (planted(PlantedBug::forget_new_demand)) continue;
            ++queue.shrinks;  // those of it may take back what it lent
            ++pool.victims;   // those beside it may take what it holds
        }
    }
    return has_changed;
}

}  // namespace gpuctl
