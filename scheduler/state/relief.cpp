#include "scheduler/state/relief.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl {

void Relief::clear() {
    queues_.clear();
    tenants_.clear();
    in_pools_.clear();
    committed_.clear();
    rest_.clear();
    jobs_.clear();
}

namespace {

// Of the period under way, to a pod that holds, or that would from now on.
GpuTime committed_to(const ClusterState& state, const Budget* budget, const PodRow& pod,
                     bool is_to_come) {
    if (budget == nullptr) return {};
    const GpuMilli gpus = state.shapes().at(pod.shape).gpus;
    const Spending& spending = budget->spending;
    const Instant now = state.now();
    if (is_to_come) return spending.needed(gpus, state.job(pod.job).run_time_max, now);
    const Instant end = spending.period().end;
    return gpu_time(gpus, (pod.ends_at.happened() ? std::min(pod.ends_at, end) : end) - now);
}

}  // namespace

void Relief::add(const ClusterState& state, PodId id, std::int64_t sign, NodeId on) {
    const PodRow& pod = state.pod(id);
    if (!pod.job.exists()) return;
    const JobRow& job = state.job(pod.job);
    if (job.priority >= kSystemPriority) return;
    const Shape& shape = state.shapes().at(pod.shape);
    const Load load{shape.gpus, shape.cpu, shape.memory};
    tenants_[job.tenant].add(load, sign);
    if (!job.queue.exists()) return;
    in_pools_[{job.tenant, job.pool}] += shape.gpus * sign;
    // One more like it is a further rank, whatever the one that it is like is.
    if (!pod.grows_with_demand && !on.exists()) rest_[job.pool] += shape.gpus * sign;
    if (const Budget* budget = state.budgets().of(job.tenant, job.pool); budget != nullptr) {
        committed_[{job.tenant, job.pool}] += committed_to(state, budget, pod, on.exists()) * sign;
    }
    OfJob& of = jobs_[pod.job];
    const bool held_nothing = of.pods == job.pods_held;
    of.pods += sign;
    of.gpus += shape.gpus * sign;
    const bool holds_nothing = of.pods == job.pods_held;
    const std::int64_t jobs = (holds_nothing ? 1 : 0) - (held_nothing ? 1 : 0);
    queues_[job.queue].direct += shape.gpus * sign;
    if (pod.standing == PodStanding::claimed) queues_[job.queue].claimed += shape.gpus * sign;
    for (QueueId queue = job.queue; queue.exists(); queue = state.queue(queue).parent) {
        queues_[queue].held.add(load, sign);
        queues_[queue].jobs += jobs;
        if (const Budget* budget = state.budgets().of(queue); budget != nullptr) {
            queues_[queue].committed += committed_to(state, budget, pod, on.exists()) * sign;
        }
        if (state.queue(queue).models.empty()) continue;
        const std::string& model = state.node(on.exists() ? on : pod.node).facts.gpu_model;
        queues_[queue].models.emplace_back(model, shape.gpus * sign);
    }
}

Load Relief::of_queue(QueueId queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? Load{} : found->second.held;
}

GpuMilli Relief::of_model(QueueId queue, std::string_view model) const {
    GpuMilli sum;
    const auto found = queues_.find(queue);
    if (found == queues_.end()) return sum;
    for (const auto& [name, gpus] : found->second.models) {
        if (same_gpu_model(name, model)) sum += gpus;
    }
    return sum;
}

std::int64_t Relief::jobs_of(QueueId queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? 0 : found->second.jobs;
}

Load Relief::of_tenant(TenantId tenant) const {
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? Load{} : found->second;
}

GpuMilli Relief::of_tenant(TenantId tenant, PoolId pool) const {
    const auto found = in_pools_.find({tenant, pool});
    return found == in_pools_.end() ? GpuMilli{} : found->second;
}

GpuMilli Relief::of_the_rest(PoolId pool) const {
    const auto found = rest_.find(pool);
    return found == rest_.end() ? GpuMilli{} : found->second;
}

GpuTime Relief::of_budget(QueueId queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? GpuTime{} : found->second.committed;
}

GpuTime Relief::of_budget(TenantId tenant, PoolId pool) const {
    const auto found = committed_.find({tenant, pool});
    return found == committed_.end() ? GpuTime{} : found->second;
}

Relief::OfJob Relief::of_job(const ClusterState& state, const JobRow& job) const {
    for (const auto& [id, of] : jobs_) {
        if (&state.job(id) == &job) return of;
    }
    return {};
}

GpuMilli Relief::kept(const ClusterState& state, QueueId queue, QueueId leaf, GpuMilli more) const {
    const QueueRow& row = state.queue(queue);
    GpuMilli sum = row.direct.gpus;
    if (const auto found = queues_.find(queue); found != queues_.end()) sum -= found->second.direct;
    if (queue == leaf) sum += more;
    for (const QueueId child : row.children) sum += kept(state, child, leaf, more);
    return std::max(row.keeps, sum);
}

Relief::Unclaimed Relief::unclaimed(const ClusterState& state, QueueId queue,
                                    const Relief* relief) {
    const QueueRow& row = state.queue(queue);
    Unclaimed sum;
    sum.held = row.direct.gpus - row.claimed;
    if (relief != nullptr) {
        const auto found = relief->queues_.find(queue);
        if (found != relief->queues_.end()) {
            sum.held -= found->second.direct - found->second.claimed;
        }
    }
    sum.kept = sum.held;
    for (const QueueId child : row.children) {
        const Unclaimed below = unclaimed(state, child, relief);
        sum.held += below.held;
        sum.kept += below.kept;
    }
    sum.kept = std::max(row.keeps, sum.kept);
    return sum;
}

bool Relief::claims_are_kept(const ClusterState& state, const PoolRow& pool, const Relief* relief) {
    if (state.claims().empty() || planted(PlantedBug::claims_fill_guarantees)) return false;
    return std::any_of(pool.roots.begin(), pool.roots.end(), [&](QueueId root) {
        const Unclaimed sum = unclaimed(state, root, relief);
        return sum.kept > sum.held;
    });
}

}  // namespace gpuctl
