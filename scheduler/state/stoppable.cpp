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
            shapes_.at(pod.shape).gpus,
            pod.facts.started_at,
            pod.facts.checkpoint_interval,
            pod.facts.restart_cost};
}

void ClusterState::list_stoppable(PodId id, bool is_there) {
    PodRow& pod = pods_[id.value()];
    std::vector<StoppablePod>& row = queues_[jobs_[pod.job.value()].queue.value()].stoppable;
    if (is_there) {
        pod.stoppable_at = static_cast<std::uint32_t>(row.size());
        row.push_back(stoppable_row(id));
        return;
    }
    const std::uint32_t at = std::exchange(pod.stoppable_at, PodRow::kNotListed);
    if (at >= row.size() || row[at].pod != id) return;
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
