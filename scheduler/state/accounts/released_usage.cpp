#include "scheduler/state/accounts/released_usage.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

void ReleasedUsage::clear() {
    queues_.clear();
    tenants_.clear();
    in_pools_.clear();
    committed_.clear();
    rest_.clear();
    jobs_.clear();
    models_.clear();
}

ReleasedUsage::OfQueue& ReleasedUsage::of(QueueId queue) {
    if (queues_.size() <= queue.value()) queues_.resize(queue.value() + 1);
    return queues_[queue.value()];
}

namespace {

// GPU time of the current period that is committed to the pod, or would be if it began now.
GpuTime committed_to(const ClusterState& state, const Budget* budget, const PodRow& pod,
                     bool is_to_come) {
    if (budget == nullptr) return {};
    const GpuMilli gpus = state.pods.shapes().at(pod.shape).gpus;
    const Spending& spending = budget->spending;
    const Instant now = state.now();
    if (is_to_come || pod.bind.state == BindState::nominated)
        return spending.needed(gpus, state.job(pod.job).run.time_max, now);
    const Instant end = spending.period().end;
    return gpu_time(gpus, (pod.ends_at.happened() ? std::min(pod.ends_at, end) : end) - now);
}

}  // namespace

void ReleasedUsage::add(const ClusterState& state, PodId id, std::int64_t sign, NodeId on) {
    const PodRow& pod = state.pod(id);
    if (!pod.job.exists()) return;
    const JobRow& job = state.job(pod.job);
    if (job.priority >= kSystemPriority) return;
    add_to_job(state, job, pod, on.exists() ? Kind::further : Kind::holds, sign);
    const GpuMilli gpus = state.pods.shapes().at(pod.shape).gpus * sign;
    const bool is_nominated = !on.exists() && pod.bind.state == BindState::nominated;
    const auto more = [&] {
        const std::string& model = state.node(on.exists() ? on : pod.node).facts.gpu_model;
        return OfModel{model, gpus, is_nominated ? gpus : GpuMilli{}};
    };
    if (job.queue.exists() && !state.pool(job.pool).reserved_models.empty()) {
        add_of_model(models_[job.pool], more());
    }
    for (QueueId queue = job.queue; queue.exists(); queue = state.queue(queue).parent) {
        if (!state.queue(queue).models.empty()) add_of_model(of(queue).models, more());
    }
}

void ReleasedUsage::add_to_come(const ClusterState& state, PodId id, std::int64_t sign) {
    const PodRow& pod = state.pod(id);
    const JobRow& job = state.job(pod.job);
    if (job.priority >= kSystemPriority) return;
    add_to_job(state, job, pod, Kind::to_come, sign);
}

void ReleasedUsage::add_to_come(const ClusterState& state, const JobRow& job,
                                std::string_view model, GpuMilli more) {
    const OfModel off{std::string{model}, GpuMilli{} - more, GpuMilli{}};
    add_of_model(models_[job.pool], off);
    for (QueueId queue = job.queue; queue.exists(); queue = state.queue(queue).parent) {
        add_of_model(of(queue).models, off);
    }
}

void ReleasedUsage::add_in_pool(const std::pair<TenantId, PoolId>& where, GpuMilli gpus) {
    const auto known = std::find_if(in_pools_.begin(), in_pools_.end(),
                                    [&](const auto& entry) { return entry.first == where; });
    if (known == in_pools_.end()) {
        in_pools_.emplace_back(where, gpus);
    } else {
        known->second += gpus;
    }
}

void ReleasedUsage::add_to_job(const ClusterState& state, const JobRow& job, const PodRow& pod,
                               Kind kind, std::int64_t sign) {
    const Shape& shape = state.pods.shapes().at(pod.shape);
    const Load load{shape.gpus, shape.cpu, shape.memory};
    if (tenants_.size() <= job.tenant.value()) tenants_.resize(job.tenant.value() + 1);
    tenants_[job.tenant.value()].add(load, sign);
    if (!job.queue.exists()) return;
    const std::pair in_pool{job.tenant, job.pool};
    add_in_pool(in_pool, shape.gpus * sign);
    // One more pod like this one is a further rank, whichever rank this one is.
    const bool comes_to_grow = job.record && grows_with_demand(job.record->spec, pod.facts.rank);
    const bool grows =
        kind == Kind::to_come ? comes_to_grow : pod.grows_with_demand || kind == Kind::further;
    if (!grows) rest_[job.pool] += shape.gpus * sign;
    const bool is_to_come = kind != Kind::holds;
    if (const Budget* budget = state.accounts.budgets().of(job.tenant, job.pool);
        budget != nullptr) {
        committed_[in_pool] += committed_to(state, budget, pod, is_to_come) * sign;
    }
    OfJob& of_job = jobs_[pod.job];
    const bool held_nothing = of_job.pods == job.holding.pods;
    of_job.pods += sign;
    of_job.gpus += shape.gpus * sign;
    const bool holds_nothing = of_job.pods == job.holding.pods;
    const std::int64_t jobs = (holds_nothing ? 1 : 0) - (held_nothing ? 1 : 0);
    of(job.queue).direct += shape.gpus * sign;
    if (!is_to_come && pod.bind.state == BindState::nominated)
        of(job.queue).nominated += shape.gpus * sign;
    for (QueueId queue = job.queue; queue.exists(); queue = state.queue(queue).parent) {
        of(queue).held.add(load, sign);
        of(queue).jobs += jobs;
        if (const Budget* budget = state.accounts.budgets().of(queue); budget != nullptr) {
            of(queue).committed += committed_to(state, budget, pod, is_to_come) * sign;
        }
    }
}

void ReleasedUsage::add_all(const ReleasedUsage& other) {
    for (std::size_t i = 0; i < other.queues_.size(); ++i) {
        const OfQueue& from = other.queues_[i];
        OfQueue& to = of(QueueId{static_cast<std::uint32_t>(i)});
        to.held.add(from.held);
        to.direct += from.direct;
        to.nominated += from.nominated;
        to.jobs += from.jobs;
        to.committed += from.committed;
        for (const OfModel& one : from.models) add_of_model(to.models, one);
    }
    if (tenants_.size() < other.tenants_.size()) tenants_.resize(other.tenants_.size());
    for (std::size_t i = 0; i < other.tenants_.size(); ++i) tenants_[i].add(other.tenants_[i]);
    for (const auto& [where, gpus] : other.in_pools_) add_in_pool(where, gpus);
    for (const auto& [job, part] : other.jobs_) {
        OfJob& to = jobs_[job];
        to.pods += part.pods;
        to.gpus += part.gpus;
    }
    for (const auto& [where, time] : other.committed_) committed_[where] += time;
    for (const auto& [pool, gpus] : other.rest_) rest_[pool] += gpus;
    for (const auto& [pool, models] : other.models_) {
        for (const OfModel& one : models) add_of_model(models_[pool], one);
    }
}

Load ReleasedUsage::of_queue(QueueId queue) const {
    const OfQueue* found = find(queue);
    return found == nullptr ? Load{} : found->held;
}

GpuMilli ReleasedUsage::of_model(QueueId queue, std::string_view model) const {
    const OfQueue* found = find(queue);
    return found == nullptr ? GpuMilli{} : sum_of_model(found->models, model).gpus;
}

GpuMilli ReleasedUsage::nominated_of_model(QueueId queue, std::string_view model) const {
    const OfQueue* found = find(queue);
    return found == nullptr ? GpuMilli{} : sum_of_model(found->models, model).nominated;
}

void ReleasedUsage::add_of_model(std::vector<OfModel>& models, const OfModel& more) {
    for (OfModel& one : models) {
        if (one.model != more.model) continue;
        one.gpus += more.gpus;
        one.nominated += more.nominated;
        return;
    }
    models.push_back(more);
}

GpuMilli ReleasedUsage::of_model(PoolId pool, std::string_view model) const {
    const auto found = models_.find(pool);
    return found == models_.end() ? GpuMilli{} : sum_of_model(found->second, model).gpus;
}

// Names of one model may be spelled in several ways.
ReleasedUsage::OfModel ReleasedUsage::sum_of_model(const std::vector<OfModel>& models,
                                                   std::string_view model) {
    OfModel sum;
    for (const OfModel& one : models) {
        if (!same_gpu_model(one.model, model)) continue;
        sum.gpus += one.gpus;
        sum.nominated += one.nominated;
    }
    return sum;
}

std::int64_t ReleasedUsage::jobs_of(QueueId queue) const {
    const OfQueue* found = find(queue);
    return found == nullptr ? 0 : found->jobs;
}

Load ReleasedUsage::of_tenant(TenantId tenant) const {
    return tenant.value() < tenants_.size() ? tenants_[tenant.value()] : Load{};
}

GpuMilli ReleasedUsage::of_tenant(TenantId tenant, PoolId pool) const {
    for (const auto& [in_pool, gpus] : in_pools_) {
        if (in_pool == std::pair{tenant, pool}) return gpus;
    }
    return {};
}

GpuMilli ReleasedUsage::of_the_rest(PoolId pool) const {
    const auto found = rest_.find(pool);
    return found == rest_.end() ? GpuMilli{} : found->second;
}

GpuTime ReleasedUsage::of_budget(QueueId queue) const {
    const OfQueue* found = find(queue);
    return found == nullptr ? GpuTime{} : found->committed;
}

GpuTime ReleasedUsage::of_budget(TenantId tenant, PoolId pool) const {
    const auto found = committed_.find({tenant, pool});
    return found == committed_.end() ? GpuTime{} : found->second;
}

ReleasedUsage::OfJob ReleasedUsage::of_job(const ClusterState& state, const JobRow& job) const {
    if (job.pods.empty()) return {};
    const auto found = jobs_.find(state.pod(job.pods.front()).job);
    return found == jobs_.end() ? OfJob{} : found->second;
}

GpuMilli ReleasedUsage::held_or_reserved(const ClusterState& state, QueueId queue, QueueId leaf,
                                         GpuMilli more) const {
    const QueueRow& row = state.queue(queue);
    GpuMilli sum = row.direct.gpus;
    if (const OfQueue* found = find(queue)) sum -= found->direct;
    if (queue == leaf) sum += more;
    for (const QueueId child : row.children) sum += held_or_reserved(state, child, leaf, more);
    return std::max(row.not_lent, sum);
}

ReleasedUsage::HeldWithoutNominations ReleasedUsage::held_without_nominations(
    const ClusterState& state, QueueId queue, const ReleasedUsage* released) {
    const QueueRow& row = state.queue(queue);
    HeldWithoutNominations sum;
    sum.held = row.direct.gpus - row.nominated;
    if (released != nullptr) {
        const OfQueue* found = released->find(queue);
        if (found != nullptr) sum.held -= found->direct - found->nominated;
    }
    sum.held_or_reserved = sum.held;
    for (const QueueId child : row.children) {
        const HeldWithoutNominations below = held_without_nominations(state, child, released);
        sum.held += below.held;
        sum.held_or_reserved += below.held_or_reserved;
    }
    sum.held_or_reserved = std::max(row.not_lent, sum.held_or_reserved);
    return sum;
}

bool ReleasedUsage::reserves_without_nominations(const ClusterState& state, const PoolRow& pool,
                                                 const ReleasedUsage* released) {
    if (state.nominations.nominated_jobs().empty() ||
        has_fault(SeededFault::nominations_fill_guarantees))
        return false;
    return std::any_of(pool.roots.begin(), pool.roots.end(), [&](QueueId root) {
        const HeldWithoutNominations sum = held_without_nominations(state, root, released);
        return sum.held_or_reserved > sum.held;
    });
}

}  // namespace gpuctl
