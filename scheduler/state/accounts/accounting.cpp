// What queues, namespaces and jobs hold, binds in flight included.

#include <algorithm>
#include <iterator>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"
#include "scheduler/state/pods/terminating.hpp"

namespace gpuctl {

void Accounts::charge(PodId id, std::int64_t sign) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (!pod.job.exists()) return;  // foreign pods are charged to no quota
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    const bool is_bound = pod.bind.state != BindState::waiting;
    if (!is_bound && has_fault(SeededFault::count_only_bound_in_quota)) return;
    if (job.priority >= kSystemPriority) return;
    if (pod.bind.state == BindState::seat && has_fault(SeededFault::seats_cost_nothing)) return;
    const Shape& shape = state_.pods.shapes().at(pod.shape);
    const Load load{shape.gpus, shape.cpu, shape.memory};
    TenantHoldings& tenant = state_.tree.tenant_rows().holdings(job.tenant, {});
    tenant.gpus_held += shape.gpus * sign;
    tenant.cpu_held += shape.cpu * sign;
    if (sign > 0 || !has_fault(SeededFault::memory_charged_for_ever)) {
        tenant.memory_held += shape.memory * sign;
    }
    if (sign < 0) {
        if (!has_fault(SeededFault::forget_tenant_shrink)) state_.tree.note_shrink(job.tenant);
        state_.session.note_news();
    }
    if (!job.queue.exists()) return;
    if (!budgets_.empty()) budgets_.count_pod(state_, pod, pod.ends_at, sign);
    std::int64_t jobs = 0;  // the number of jobs that hold something changes by this
    HoldingRow& holding = state_.jobs.rows().holding(pod.job, {});
    if (sign > 0) jobs = holding.pods++ == 0 ? 1 : 0;
    if (sign < 0) jobs = --holding.pods == 0 ? -1 : 0;
    holding.gpus += shape.gpus * sign;
    PoolHoldings& pool = state_.tree.pool_rows().holdings(job.pool, {});
    std::vector<GpuMilli>& by_tenant = pool.held_by_tenant;
    if (by_tenant.size() <= job.tenant.value()) by_tenant.resize(job.tenant.value() + 1);
    by_tenant[job.tenant.value()] += shape.gpus * sign;
    if (pod.grows_with_demand) pool.held_by_growing += shape.gpus * sign;
    if (pod.bind.state == BindState::nominated) {
        state_.tree.queue_rows().holdings(job.queue, {}).nominated += shape.gpus * sign;
    }
    if (sign < 0 || state_.evictions.may_be_preempted(pod))
        state_.evictions.list_stoppable(id, sign > 0);
    charge_queues(job.queue, job.tenant, load, sign, jobs);
    if (sign > 0 && shape.gpus > GpuMilli{}) {
        state_.tree.note_loan(job.pool);
        state_.nominations
            .revisit_nominations();  // reserved quota counts only while it is not held
    }
    charge_models(job.queue, pod, sign);
}

void Accounts::charge_pods_of(const NodeRow& node, std::int64_t sign) {
    for (const PodId pod : node.pods) charge(pod, sign);
}

void Accounts::charge_pods_of(const JobRow& job, std::int64_t sign) {
    for (const PodId pod : job.pods) {
        if (state_.pods.rows()[pod.value()].node.exists()) charge(pod, sign);
    }
    for (const PodId seat : job.seats) charge(seat, sign);
}

LimitHit Accounts::limit_hit(const JobRow& job, const Load& ask) const {
    LimitHit first;
    visit_limits(state_, job, ask, [&first](const LimitHit& hit) {
        first = hit;
        return false;
    });
    return first;
}

bool Accounts::reserves_lent(const PoolRow& pool) const {
    return pool.held_or_reserved > pool.held ||
           ReleasedUsage::reserves_without_nominations(state_, pool, nullptr);
}

// The usage of a queue also counts in every queue above it.
void Accounts::charge_queues(QueueId leaf, TenantId tenant, const Load& load, std::int64_t sign,
                             std::int64_t jobs) {
    const QueueRow& row = state_.tree.queue_rows()[leaf.value()];
    const PoolRow& pool = state_.tree.pool_rows()[row.pool.value()];
    QueueHoldings& own = state_.tree.queue_rows().holdings(leaf, {});
    if (own.by_tenant.size() <= tenant.value()) own.by_tenant.resize(tenant.value() + 1);
    change_account(own.by_tenant[tenant.value()], load, sign);
    own.jobs_direct += jobs;
    const bool reserved_before = reserves_lent(pool);
    GpuMilli reserved_more = row.held_or_reserved();
    own.direct.add(load, sign);
    reserved_more = row.held_or_reserved() - reserved_more;
    for (QueueId id = leaf; id.exists(); id = state_.tree.queue_rows()[id.value()].parent) {
        QueueHoldings& queue = state_.tree.queue_rows().holdings(id, {});
        if (id != leaf) {
            if (has_fault(SeededFault::charge_the_leaf_only)) break;
            const QueueRow& above = state_.tree.queue_rows()[id.value()];
            const GpuMilli before = above.held_or_reserved();
            queue.held_or_reserved_below += reserved_more;
            reserved_more = above.held_or_reserved() - before;
        }
        change_account(queue.account, load, sign);
        queue.jobs_held += jobs;
        if (sign < 0 && !has_fault(SeededFault::forget_queue_shrink)) state_.tree.note_shrink(id);
    }
    PoolHoldings& held = state_.tree.pool_rows().holdings(row.pool, {});
    held.held += load.gpus * sign;
    held.held_or_reserved += reserved_more;
    // Quota reserved for other queues blocks no job once these queues hold it.
    if (reserved_before && !reserves_lent(pool)) state_.tree.note_gain(row.pool);
}

void Accounts::charge_models(QueueId leaf, const PodRow& pod, std::int64_t sign) {
    const std::string& model = state_.nodes.rows()[pod.node.value()].facts.gpu_model;
    const GpuMilli gpus = state_.pods.shapes().at(pod.shape).gpus * sign;
    const PoolId pool = state_.tree.queue_rows()[leaf.value()].pool;
    ModelRoom* const room = state_.tree.pool_rows().holdings(pool, {}).find_reserved_model(model);
    const bool reserved_before = room != nullptr && limits::reserves_idle(state_, pool, *room);
    if (room != nullptr) room->held += gpus;
    for (QueueId id = leaf; id.exists(); id = state_.tree.queue_rows()[id.value()].parent) {
        state_.tree.charge_model(id, model, gpus, pod.bind.state == BindState::nominated);
    }
    if (reserved_before && !limits::reserves_idle(state_, pool, *room)) state_.tree.note_gain(pool);
}

}  // namespace gpuctl
