#include "scheduler/plan/backfill/short_work.hpp"

#include "scheduler/base/log2.hpp"

namespace gpuctl {

void ShortWork::open(const ClusterState& state, PoolId pool) {
    policy_ = state.pool(pool).backfill;
    total_ = reserved_ = held_by_long_ = GpuMilli{};
    if (policy_.short_percent <= 0) return;
    const Capacity& capacity = state.nodes.capacity();
    for (const std::uint32_t slot : capacity.nodes_of(pool)) {
        total_ += GpuMilli{capacity.gpus_on(slot).total};
        for (const PodId id : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(id);
            if (!pod.job.exists() || !state.job(pod.job).run.is_long) continue;
            held_by_long_ += state.shape_of(pod).gpus;
        }
    }
    reserved_ = GpuMilli{total_.value() / 100 * policy_.short_percent};
}

bool ShortWork::is_long(const ClusterState& state, ClassId of, ShortestFirst& scores) const {
    return scores.run_time_log2(state, of) >
           log2_fixed(static_cast<std::uint64_t>(policy_.short_run_time.ms()));
}

bool ShortWork::is_exhausted_by(const ClusterState& state, const JobRow& job,
                                GpuMilli asked) const {
    if (state.now() - job.submitted_at >= policy_.patience) return false;
    const GpuMilli most = total_ - reserved_;
    return asked <= most && held_by_long_ + asked > most;
}

}  // namespace gpuctl
