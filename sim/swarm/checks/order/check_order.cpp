// I8: the order of placements. Each job that a Plan placed is compared with every job that the Plan
// placed later, and with every waiting job with exactly the same request. A pair counts only if the
// later job could have been first: the same Plan placed it, or it would have fit in the same place.

#include <algorithm>
#include <tuple>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::record_new_nominations(const ClusterState& after) {
    nominated_pools_.clear();
    for (const JobId id : after.nominations.nominated_jobs()) {
        for (const PodId pod_id : after.job(id).pods) {
            const PodRow& pod = after.pod(pod_id);
            if (pod.bind.state == BindState::nominated &&
                reference_.nominated_before(pod.facts.uid).empty()) {
                nominated_pools_.insert(reference_.queue_of(pod.facts).pool);
            }
        }
    }
    // Pools with pods that began to terminate in this Plan, or no longer terminate, are left out,
    // too.
    for (const auto& [uid, pod] : reference_.pods) {
        const PodId id = after.pods.find_pod(uid);
        const bool leaves = id.exists() && after.pod(id).is_terminating();
        if (pod.holds() && leaves != is_terminating(pod)) {
            nominated_pools_.insert(reference_.queue_of(pod.facts).pool);
        }
    }
}

bool Checker::is_terminating(const ReferencePod& pod) {
    return pod.facts.terminating || pod.evicting || pod.surplus;
}

// The order counts pods that stay. A terminating pod on a ready node counts as gone, unless its
// grace period ended long ago.
bool Checker::counts_for_order(const ReferencePod& pod, const ClusterState& after) const {
    if (!pod.holds()) return false;
    if (!is_terminating(pod) || is_stuck(pod, after.now())) return true;
    const auto node = reference_.nodes.find(pod.where());
    return node == reference_.nodes.end() || !node->second.ready ||
           node->second.pool != reference_.queue_of(pod.facts).pool;
}

void Checker::check_order(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after) {
    record_new_nominations(after);
    // The amounts that each queue and tenant held before the first placement: the present amounts
    // less all placements.
    Held held;
    const auto sum = [&](const ReferencePod& pod, std::int64_t sign) {
        held[reference_.queue_of(pod.facts)][pod.facts.key.namespace_name].add(
            amounts_of(pod.facts.request), sign);
    };
    for (const auto& [uid, pod] : reference_.pods) {
        if (counts_for_order(pod, after)) sum(pod, 1);
    }
    const auto change = [&](const PlacedJob& placed_job, std::int64_t sign) {
        held[reference_.queue_of(placed_job.pod)][placed_job.job.namespace_name].add(
            amounts_of(placed_job.pod.request), placed_job.ranks * sign);
    };
    for (const PlacedJob& placed_job : placed_jobs) change(placed_job, -1);
    for (std::size_t i = 0; i < placed_jobs.size(); ++i) {
        for (std::size_t j = i + 1; j < placed_jobs.size(); ++j) {
            if (placed_jobs[j].job != placed_jobs[i].job)
                compare(placed_jobs[i], placed_jobs[j], held, after);
        }
        if (!placed_jobs[i].grows && !placed_jobs[i].may_grow)
            compare_waiting(placed_jobs[i], after);
        change(placed_jobs[i], 1);
    }
    check_overtaking(placed_jobs, after);
}

Amounts Checker::held_below(const QueueName& queue, const Held& held) const {
    Amounts sum;
    for (const auto& [name, by_tenant] : held) {
        const std::vector<QueueName> chain = reference_.chain(name);
        if (std::find(chain.begin(), chain.end(), queue) == chain.end()) continue;
        for (const auto& [tenant, amounts] : by_tenant) sum.add(amounts);
    }
    return sum;
}

std::int64_t Checker::reserved_then(const QueueName& queue, const Held& held) const {
    std::int64_t sum = 0;
    const auto add_direct = [&](const QueueName& name) {
        const auto found = held.find(name);
        if (found == held.end()) return;
        for (const auto& [tenant, amounts] : found->second) sum += amounts.gpus;
    };
    bool has_default = !queue.queue.empty();
    if (has_default) add_direct(queue);
    for (const PoolPolicy& pool : reference_.policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& below : pool.queues) {
            has_default = has_default || below.name == kDefaultQueue;
            if (below.parent == queue.queue) sum += reserved_then({pool.name, below.name}, held);
        }
    }
    if (!has_default) add_direct({queue.pool, kDefaultQueue});
    const QueuePolicy* known = reference_.policy_of(queue);
    if (!known || !known->lending_limit) return sum;
    return std::max(sum, known->guaranteed.value() - known->lending_limit->value());
}

// Reserved GPUs block no job once the job that they were reserved for holds them: the earlier
// placement may have unblocked the later one.
bool Checker::was_blocked_by_reserve(const PlacedJob& later, const Held& held) const {
    const std::string pool = reference_.queue_of(later.pod).pool;
    std::int64_t all_held = 0;
    for (const auto& [name, by_tenant] : held) {
        if (name.pool != pool || !reference_.exists(name)) continue;
        for (const auto& [tenant, amounts] : by_tenant) all_held += amounts.gpus;
    }
    const std::int64_t kept = reserved_then({pool, ""}, held);
    const std::int64_t asks = amounts_of(later.pod.request).gpus * later.ranks;
    return kept > all_held && kept + asks > reference_.offered(pool).gpus;
}

void Checker::compare(const PlacedJob& first, const PlacedJob& later, const Held& held,
                      const ClusterState& after) {
    const QueueName a = reference_.queue_of(first.pod);
    const QueueName b = reference_.queue_of(later.pod);
    if (a.pool != b.pool || later.grows || first.may_grow || later.may_grow) return;
    if (first.grows)
        fail("I19", "job " + to_string(first.job) + " grew before other jobs were tried");
    if (first.resumes || first.grows) return;
    // Nominated capacity is held from then on, but here it is known only at the end of the step.
    if (nominated_pools_.contains(a.pool)) return;
    if (a == b) compare_late(first, later, after);
    if (was_blocked_by_reserve(later, held)) return;
    ++probes.orders_compared;
    if (later.resumes) {
        return fail("I8", placed_before(first.job, later.job) + "whose gang is half bound");
    }
    a == b ? compare_jobs(first, later, held) : compare_queues(first, later, held);
}

}  // namespace gpuctl::sim
