// Rows of the pods that may be stopped for others, and who is on his way out: what a search for
// whom to stop begins with, kept so that it need not look at every pod.

#include <utility>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

StoppablePod ClusterState::stoppable_row(PodId id) const {
    const PodRow& pod = pods_[id.value()];
    return {id,
            pod.node,
            jobs_[pod.job.value()].priority,
            pod.facts.gang,
            !pod.facts.preemptible,
            shapes_.at(pod.shape).gpus,
            pod.facts.started_at,
            pod.facts.checkpoint_interval,
            pod.facts.restart_cost};
}

bool ClusterState::may_be_preempted(const PodRow& pod) const {
    if (pod.facts.preemptible) return true;
    if (!pod.facts.preemptible_is_default || !pod.job.exists()) return false;
    const PoolId pool = jobs_[pod.job.value()].pool;
    return pool.exists() &&
           pools_[pool.value()].preemption.victims == PreemptionVictims::lower_priority;
}

// Of a pod that holds: its pool may think otherwise of it now.
void ClusterState::relist_stoppable() {
    for (std::uint32_t i = 0; i < pods_.size(); ++i) {
        const PodRow& pod = pods_[i];
        if (!pod.node.exists() || !pod.job.exists()) continue;
        const JobRow& job = jobs_[pod.job.value()];
        if (!job.queue.exists() || job.priority >= kSystemPriority) continue;
        const bool may_go = may_be_preempted(pod);
        if (may_go == (pod.stoppable_at != PodRow::kNotListed)) continue;
        list_stoppable(PodId{i}, may_go);
        if (may_go) note_victim(job.queue);
    }
}

// Counted as it is listed, so that both are taken back alike.
void ClusterState::list_stoppable(PodId id, bool is_there) {
    PodRow& pod = pods_[id.value()];
    if (!is_there && pod.stoppable_at == PodRow::kNotListed) return;
    const JobRow& job = jobs_[pod.job.value()];
    QueueRow& queue = queues_[job.queue.value()];
    queue.preemptible[job.priority] += is_there ? 1 : -1;
    const auto count = [&](const StoppablePod& listed, std::int64_t sign) {
        if (listed.gpus > GpuMilli{} || listed.for_priority_only) return;
        queue.stoppable_without_gpus += sign;
        pools_[queue.pool.value()].stoppable_without_gpus += sign;
    };
    std::vector<StoppablePod>& row = queue.stoppable;
    if (is_there) {
        pod.stoppable_at = static_cast<std::uint32_t>(row.size());
        row.push_back(stoppable_row(id));
        return count(row.back(), 1);
    }
    const std::uint32_t at = std::exchange(pod.stoppable_at, PodRow::kNotListed);
    if (at >= row.size() || row[at].pod != id) return;
    count(row[at], -1);
    row[at] = row.back();
    row.pop_back();
    if (at < row.size()) pods_[row[at].pod.value()].stoppable_at = at;
}

void ClusterState::renew_stoppable(PodId id) {
    const PodRow& pod = pods_[id.value()];
    if (pod.stoppable_at == PodRow::kNotListed) return;
    queues_[jobs_[pod.job.value()].queue.value()].stoppable[pod.stoppable_at] = stoppable_row(id);
}

void ClusterState::read_leaving(PoolId pool, std::vector<PodId>& out) const {
    out.clear();
    for (const PodId id : maybe_leaving_) {
        const PodRow& pod = pods_[id.value()];
        const NodeRow& node = nodes_[pod.node.value()];
        const bool is_there = pool.exists() ? node.pool == pool : node.pool.exists();
        if (node.known && is_there && node.facts.ready && pod.is_leaving() && !pod.is_stuck(now_)) {
            out.push_back(id);
        }
    }
}

}  // namespace gpuctl
