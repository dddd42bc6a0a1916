#include "scheduler/policy/leavers.hpp"

#include "scheduler/base/planted.hpp"

namespace gpuctl {

void Leavers::read(const ClusterState& state, PoolId pool) {
    const std::uint64_t moved = state.pool(pool).leaving;
    if (pool_ == pool && moved_ == moved) return;
    pool_ = pool;
    moved_ = moved;
    gone_.clear();
    by_tenant_.clear();
    state.read_leaving(pool, pods_);
    if (planted(PlantedBug::leavers_have_had_their_turn)) pods_.clear();
    for (const PodId id : pods_) {
        const PodRow& pod = state.pod(id);
        if (!pod.job.exists()) continue;
        gone_.add(state, id, 1);
        const JobRow& job = state.job(pod.job);
        const Shape& shape = state.shapes().at(pod.shape);
        if (job.queue.exists()) {
            by_tenant_[{job.queue, job.tenant}].add({shape.gpus, shape.cpu, shape.memory});
        }
    }
}

Load Leavers::of_queue(QueueId queue) const { return gone_.of_queue(queue); }

Load Leavers::of_tenant(QueueId leaf, TenantId tenant) const {
    const auto found = by_tenant_.find({leaf, tenant});
    return found == by_tenant_.end() ? Load{} : found->second;
}

GpuMilli Leavers::of_tenant(TenantId tenant, PoolId pool) const {
    return gone_.of_tenant(tenant, pool);
}

GpuMilli Leavers::of_model(QueueId queue, std::string_view model) const {
    return gone_.of_model(queue, model);
}

}  // namespace gpuctl
