// I17 of guarantees that only hold while demand fits: the demand of each queue is recounted from
// its waiting and holding pods.

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

std::int64_t Checker::effective_guarantee(const QueueName& queue) const {
    return beyond_guarantee_.contains(queue) ? 0 : reference_.guaranteed(queue);
}

void Checker::record_demand(const ClusterState& after) {
    std::set<QueueName> now;
    for (const auto& [name, pool] : after.tree.pools_by_name()) {
        for (const QueueId id : after.pool(pool).queues) {
            const QueueRow& queue = after.queue(id);
            if (queue.is_beyond_guarantee) now.insert({name, queue.name});
        }
    }
    for (const QueueName& queue : now) {
        if (!beyond_guarantee_.contains(queue)) ++probes.guarantees_outgrown;
    }
    beyond_guarantee_ = std::move(now);
}

// At a fixed point the demand is the same as at the last Plan.
void Checker::check_demand(const ClusterState& state) {
    std::map<QueueName, std::int64_t> waiting;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waiting.in_class.exists() || job.priority >= kSystemPriority) continue;
        Readiness ready;
        state.waiting.read_readiness(id, ready);
        for (const PodId pod : ready.pods) {
            const PodFacts& facts = state.pod(pod).facts;
            for (const QueueName& queue : reference_.chain(reference_.queue_of(facts))) {
                waiting[queue] += amounts_of(facts.request).gpus;
            }
        }
    }
    std::map<QueueName, std::int64_t> held;
    std::set<QueueName> unsure;  // a stuck pod of the queue may not have been stuck during the Plan
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds()) continue;
        for (const QueueName& queue : reference_.chain(reference_.queue_of(pod.facts))) {
            if (is_terminating(pod) && is_stuck(pod, state.now())) unsure.insert(queue);
            if (counts_for_order(pod, state)) held[queue] += amounts_of(pod.facts.request).gpus;
        }
    }
    for (const PoolPolicy& pool : reference_.policy.pools) {
        for (const QueuePolicy& policy : pool.queues) {
            const QueueName queue{pool.name, policy.name};
            if (unsure.contains(queue)) continue;
            const std::int64_t least = reference_.guaranteed(queue);
            const bool may_be = pool.preemption.guarantees == GuaranteeRule::when_demand_fits;
            const bool wants_more = held[queue] + waiting[queue] > least;
            if (beyond_guarantee_.contains(queue) == (may_be && least > 0 && wants_more)) continue;
            // Demand is re-evaluated only when the queue has a waiting job.
            if (!wants_more && waiting[queue] == 0) continue;
            fail("I17", "queue " + queue.queue + (wants_more ? " wants" : " no longer wants") +
                            " more than its guarantee, and the engine reports the opposite");
        }
    }
}

}  // namespace gpuctl::sim
