// Who holds how much, in-flight binds included; what limits say about more.

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

void ClusterState::charge(PodId id, std::int64_t sign) {
    const PodRow& pod = pods_[id.value()];
    if (!pod.job.exists()) return;  // foreign pods belong to nobody's quota
    JobRow& job = jobs_[pod.job.value()];
    const bool is_bound = pod.standing != PodStanding::waiting;
    if (!is_bound && planted(PlantedBug::count_only_bound_in_quota)) return;
    if (job.priority >= kSystemPriority) return;
    const Shape& shape = shapes_.at(pod.shape);
    const Load load{shape.gpus, shape.cpu, shape.memory};
    TenantRow& tenant = tenants_[job.tenant.value()];
    tenant.gpus_held += shape.gpus * sign;
    tenant.cpu_held += shape.cpu * sign;
    if (sign > 0 || !planted(PlantedBug::memory_charged_for_ever)) {
        tenant.memory_held += shape.memory * sign;
    }
    if (sign < 0) {
        if (!planted(PlantedBug::forget_tenant_shrink)) ++tenant.shrinks;
        idle_ = false;
    }
    if (!job.queue.exists()) return;
    if (!budgets_.empty()) budgets_.note(*this, pod, pod.ends_at, sign);
    std::int64_t jobs = 0;  // one more or fewer that holds something
    if (sign > 0) jobs = job.pods_held++ == 0 ? 1 : 0;
    if (sign < 0) jobs = --job.pods_held == 0 ? -1 : 0;
    job.gpus_held += shape.gpus * sign;
    std::vector<GpuMilli>& by_tenant = pools_[job.pool.value()].held_by_tenant;
    if (by_tenant.size() <= job.tenant.value()) by_tenant.resize(job.tenant.value() + 1);
    by_tenant[job.tenant.value()] += shape.gpus * sign;
    if (pod.grows_with_demand) pools_[job.pool.value()].held_by_growing += shape.gpus * sign;
    if (pod.standing == PodStanding::claimed) {
        queues_[job.queue.value()].claimed += shape.gpus * sign;
    }
    if (sign < 0 || may_be_preempted(pod)) list_stoppable(id, sign > 0);
    charge_queues(job.queue, job.tenant, load, sign, jobs);
    if (sign > 0 && shape.gpus > GpuMilli{}) {
        note_loan(job.pool);
        look_at_claims();  // what is kept back counts as long as it is not held
    }
    charge_models(job.queue, pod, sign);
}

void ClusterState::charge_pods_of(const NodeRow& node, std::int64_t sign) {
    for (const PodId pod : node.pods) charge(pod, sign);
}

// Moves all that the job holds to another queue or in and out of the system class.
void ClusterState::recharge(JobRow& job, PoolId pool, QueueId queue, std::int32_t priority) {
    if (job.pool == pool && job.queue == queue && job.priority == priority) return;
    if (job.pods_held > 0) note_gain(job.pool);  // its old queue holds less
    for (const PodId pod : job.pods) {
        if (planted(PlantedBug::double_charge_on_move)) break;
        if (pods_[pod.value()].node.exists()) charge(pod, -1);
    }
    job.pool = pool;
    job.queue = queue;
    job.priority = priority;
    for (const PodId pod : job.pods) {
        if (pods_[pod.value()].node.exists()) charge(pod, 1);
    }
}

LimitHit ClusterState::limit_hit(const JobRow& job, const Load& ask) const {
    LimitHit first;
    visit_limits(*this, job, ask, [&first](const LimitHit& hit) {
        first = hit;
        return false;
    });
    return first;
}

std::optional<GpuMilli> ClusterState::pool_quota(TenantId tenant, PoolId pool) const {
    for (const auto& [of, quota] : tenants_[tenant.value()].pool_quotas) {
        if (of == pool) return quota;
    }
    return std::nullopt;
}

GpuMilli ClusterState::held_in_pool(TenantId tenant, PoolId pool) const {
    const std::vector<GpuMilli>& by_tenant = pools_[pool.value()].held_by_tenant;
    return tenant.value() < by_tenant.size() ? by_tenant[tenant.value()] : GpuMilli{};
}

}  // namespace gpuctl
