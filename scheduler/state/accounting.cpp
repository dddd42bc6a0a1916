// Who holds how much, in-flight binds included; what limits say about more.

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void ClusterState::charge(const PodRow& pod, std::int64_t sign) {
    if (!pod.job.exists()) return;  // foreign pods belong to nobody's quota
    const JobRow& job = jobs_[pod.job.value()];
    const bool is_bound = pod.standing != PodStanding::waiting;
    if (!is_bound && planted(PlantedBug::count_only_bound_in_quota)) return;
    if (job.priority >= kSystemPriority) return;
    const Shape& shape = shapes_.at(pod.shape);
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
    QueueRow& queue = queues_[job.queue.value()];
    queue.held += shape.gpus * sign;
    if (queue.held_by_tenant.size() <= job.tenant.value()) {
        queue.held_by_tenant.resize(job.tenant.value() + 1);
    }
    queue.held_by_tenant[job.tenant.value()] += shape.gpus * sign;
    if (sign < 0 && !planted(PlantedBug::forget_queue_shrink)) ++queue.shrinks;
}

// Moves all that the job holds to another queue or in and out of the system class.
void ClusterState::recharge(JobRow& job, PoolId pool, QueueId queue, std::int32_t priority) {
    if (job.pool == pool && job.queue == queue && job.priority == priority) return;
    for (const PodId pod : job.pods) {
        if (planted(PlantedBug::double_charge_on_move)) break;
        if (pods_[pod.value()].node.exists()) charge(pods_[pod.value()], -1);
    }
    job.pool = pool;
    job.queue = queue;
    job.priority = priority;
    for (const PodId pod : job.pods) {
        if (pods_[pod.value()].node.exists()) charge(pods_[pod.value()], 1);
    }
}

Reason ClusterState::limit_hit(const JobRow& job, GpuMilli gpus, CpuMilli cpu, Bytes memory) const {
    if (job.priority >= kSystemPriority) return Reason::none;
    const QueueRow& queue = queues_[job.queue.value()];
    if (planted(PlantedBug::queue_maximum_off_by_one)) gpus -= whole_gpus(1);
    if (queue.maximum && gpus > GpuMilli{0} && queue.held + gpus > *queue.maximum &&
        !planted(PlantedBug::skip_queue_maximum)) {
        return Reason::queue_limit;
    }
    if (planted(PlantedBug::skip_tenant_quota)) return Reason::none;
    const TenantRow& tenant = tenants_[job.tenant.value()];
    const bool over =
        (tenant.gpu_maximum && gpus > GpuMilli{0} &&
         tenant.gpus_held + gpus > *tenant.gpu_maximum) ||
        (tenant.cpu_maximum && cpu > CpuMilli{0} && tenant.cpu_held + cpu > *tenant.cpu_maximum) ||
        (tenant.memory_maximum && memory > Bytes{0} &&
         tenant.memory_held + memory > *tenant.memory_maximum);
    return over ? Reason::tenant_quota : Reason::none;
}

}  // namespace gpuctl
