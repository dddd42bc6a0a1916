// Rows of the pods that may be evicted for other jobs. A search for victims reads these rows, so
// that it need not read all pods.

#include <utility>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

StoppablePod Evictions::stoppable_row(PodId id) const {
    const PodRow& pod = state_.pods.rows()[id.value()];
    return {id,
            pod.node,
            state_.jobs.rows()[pod.job.value()].priority,
            pod.facts.gang,
            !pod.facts.preemptible,
            state_.pods.shapes().at(pod.shape).gpus,
            pod.facts.started_at,
            pod.facts.checkpoint_interval,
            pod.facts.restart_cost};
}

bool Evictions::may_be_preempted(const PodRow& pod) const {
    if (pod.facts.preemptible) return true;
    if (!pod.facts.preemptible_is_default || !pod.job.exists()) return false;
    const PoolId pool = state_.jobs.rows()[pod.job.value()].pool;
    return pool.exists() && state_.tree.pool_rows()[pool.value()].preemption.victims ==
                                PreemptionVictims::lower_priority;
}

// The victim rule of a pool has changed: lists or removes the pods that hold resources.
void Evictions::relist_stoppable() {
    for (std::uint32_t i = 0; i < state_.pods.rows().size(); ++i) {
        const PodRow& pod = state_.pods.rows()[i];
        if (!pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = state_.jobs.rows()[pod.job.value()];
        if (!job.queue.exists() || job.priority >= kSystemPriority) continue;
        const bool may_go = may_be_preempted(pod);
        if (may_go == (pod.stoppable_at != PodRow::kNotListed)) continue;
        list_stoppable(PodId{i}, may_go);
        if (may_go) state_.tree.note_victim(job.queue);
    }
}

// Adds the pod to the list (is_there) or removes it. Removal counts the listed row, so that it
// reverses exactly what was counted when the pod was added.
void Evictions::list_stoppable(PodId id, bool is_there) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (!is_there && pod.stoppable_at == PodRow::kNotListed) return;
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    const PoolId pool = state_.tree.queue_rows()[job.queue.value()].pool;
    QueueVictims& queue = state_.tree.queue_rows().victims(job.queue, {});
    queue.preemptible[job.priority] += is_there ? 1 : -1;
    const auto count = [&](const StoppablePod& listed, std::int64_t sign) {
        if (listed.gpus > GpuMilli{} || listed.for_priority_only) return;
        queue.stoppable_without_gpus += sign;
        state_.tree.pool_rows().stoppable_without_gpus(pool, {}) += sign;
    };
    std::vector<StoppablePod>& row = queue.stoppable;
    if (is_there) {
        state_.pods.rows().stoppable_at(id, {}) = static_cast<std::uint32_t>(row.size());
        row.push_back(stoppable_row(id));
        return count(row.back(), 1);
    }
    const std::uint32_t at =
        std::exchange(state_.pods.rows().stoppable_at(id, {}), PodRow::kNotListed);
    if (at >= row.size() || row[at].pod != id) return;
    count(row[at], -1);
    row[at] = row.back();
    row.pop_back();
    if (at < row.size()) state_.pods.rows().stoppable_at(row[at].pod, {}) = at;
}

void Evictions::renew_stoppable(PodId id) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (pod.stoppable_at == PodRow::kNotListed) return;
    const QueueId queue = state_.jobs.rows()[pod.job.value()].queue;
    state_.tree.queue_rows().victims(queue, {}).stoppable[pod.stoppable_at] = stoppable_row(id);
}

}  // namespace gpuctl
