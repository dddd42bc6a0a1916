// What decides whose turn it is, term by term, as policy/queue_order.cpp compares it.

#include <algorithm>

#include "scheduler/engine/views.hpp"
#include "scheduler/policy/work_left.hpp"
#include "scheduler/queue/share.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/wait_target.hpp"

namespace gpuctl {

std::optional<TurnView> turn_of(const ClusterState& state, const ObjectKey& key) {
    const JobId id = state.find_job(key);
    if (!id.exists()) return std::nullopt;
    const JobRow& job = state.job(id);
    if (!job.waits_in.exists() || job.priority >= kSystemPriority) return std::nullopt;
    const PoolRow& pool = state.pool(job.pool);
    const QueueRow& leaf = state.queue(job.queue);
    const TenantRow& tenant = state.tenant(job.tenant);
    TurnView turn;
    for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
        const QueueRow& queue = state.queue(up);
        const QueueOrder order =
            queue.parent.exists() ? state.queue(queue.parent).order : pool.order;
        turn.levels.push_back(
            {queue.name, order, queue.priority, queue.guaranteed, queue.account.held.gpus,
             dominant_share(queue.account.held, queue.account.usage, pool.offered), queue.weight,
             queue.is_beyond_guarantee});
    }
    std::reverse(turn.levels.begin(), turn.levels.end());
    turn.order = leaf.order;
    turn.priority = job.priority;
    turn.priority_by_waiting = state.aged_priority(job.priority, job.submitted_at) - job.priority;
    turn.waited = std::max(state.now() - job.submitted_at, Duration{});
    if (state.stops_long_for_short(leaf)) {
        WorkLeft work;
        if (pool.preemption.mode == PreemptionMode::due) {
            turn.due_at = Instant{work.of_waiting(state, job)};
        }
        turn.begin_by = WorkLeft::begin_by(state, job).value_or(Instant{});
        const auto target = wait_target_of(state, job);
        if (target && state.now() < target->missed_from) {
            turn.sooner_from = target->near_from;
            turn.sooner_until = target->missed_from;
        }
    }
    turn.tenant = tenant.name;
    turn.tenant_weight = tenant.weight;
    if (job.tenant.value() < leaf.by_tenant.size()) {
        const Account& account = leaf.by_tenant[job.tenant.value()];
        turn.tenant_share = dominant_share(account.held, account.usage, pool.offered);
    }
    turn.tenant_held = state.held_in_pool(job.tenant, job.pool);
    turn.tenant_quota = state.pool_quota(job.tenant, job.pool);
    return turn;
}

}  // namespace gpuctl
