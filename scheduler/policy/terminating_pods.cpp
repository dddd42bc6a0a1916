#include "scheduler/policy/terminating_pods.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

void TerminatingPods::read(const ClusterState& state, PoolId pool) {
    const std::uint64_t moved = state.pool(pool).terminations;
    if (pool_ == pool && moved_ == moved) return;
    pool_ = pool;
    moved_ = moved;
    queues_.clear();
    by_tenant_.clear();
    by_model_.clear();
    state.pods.read_terminating(pool, pods_);
    if (has_fault(SeededFault::count_terminating_in_order)) pods_.clear();
    for (const PodId id : pods_) add(state, state.pod(id));
}

void TerminatingPods::add(const ClusterState& state, const PodRow& pod) {
    if (!pod.job.exists()) return;
    const JobRow& job = state.job(pod.job);
    if (!job.queue.exists() || job.priority >= kSystemPriority) return;
    const Shape& shape = state.shape_of(pod);
    const Load load = shape.load();
    by_tenant_[{job.queue, job.tenant}].add(load);
    for (QueueId queue = job.queue; queue.exists(); queue = state.queue(queue).parent) {
        if (queues_.size() <= queue.value()) queues_.resize(queue.value() + 1);
        queues_[queue.value()].add(load);
        for (const ModelHolding& model : state.queue(queue).models) {
            if (!same_gpu_model(state.node(pod.node).facts.gpu_model, model.limit.model)) continue;
            by_model_[{queue, model.limit.model}] += shape.gpus;
        }
    }
}

Load TerminatingPods::of_queue(QueueId queue) const {
    return queue.value() < queues_.size() ? queues_[queue.value()] : Load{};
}

Load TerminatingPods::of_tenant(QueueId leaf, TenantId tenant) const {
    const auto found = by_tenant_.find({leaf, tenant});
    return found == by_tenant_.end() ? Load{} : found->second;
}

GpuMilli TerminatingPods::of_tenant(TenantId tenant) const {
    GpuMilli sum;
    for (const auto& [of, load] : by_tenant_) {
        if (of.second == tenant) sum += load.gpus;
    }
    return sum;
}

GpuMilli TerminatingPods::of_model(QueueId queue, std::string_view model) const {
    const auto found = by_model_.find({queue, std::string{model}});
    return found == by_model_.end() ? GpuMilli{} : found->second;
}

}  // namespace gpuctl
