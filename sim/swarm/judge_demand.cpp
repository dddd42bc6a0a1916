// Guarantees that hold only for queues which want no more than theirs: who wants more is recounted
// from the pods of jobs in line and of those that hold something.

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

std::int64_t Judge::promised(const QueueName& queue) const {
    return beyond_guarantee_.contains(queue) ? 0 : books_.guaranteed(queue);
}

void Judge::note_demand(const ClusterState& after) {
    std::set<QueueName> now;
    for (const auto& [name, pool] : after.pools_by_name()) {
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

// At a moment at which nothing is left to plan: as the Plan saw it, so it is.
void Judge::look_at_demand(const ClusterState& state) {
    std::map<QueueName, std::int64_t> waiting;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waits_in.exists() || job.priority >= kSystemPriority) continue;
        Readiness ready;
        state.read_readiness(id, ready);
        for (const PodId pod : ready.pods) {
            const PodFacts& facts = state.pod(pod).facts;
            for (const QueueName& queue : books_.chain(books_.queue_of(facts))) {
                waiting[queue] += amounts_of(facts.request).gpus;
            }
        }
    }
    std::map<QueueName, std::int64_t> held;
    std::set<QueueName> unsure;  // how long somebody is stuck there already when the Plan looked
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds()) continue;
        for (const QueueName& queue : books_.chain(books_.queue_of(pod.facts))) {
            if (is_leaving(pod) && is_stuck(pod, state.now())) unsure.insert(queue);
            if (counts_for_turns(pod, state)) held[queue] += amounts_of(pod.facts.request).gpus;
        }
    }
    for (const PoolPolicy& pool : books_.policy.pools) {
        for (const QueuePolicy& policy : pool.queues) {
            const QueueName queue{pool.name, policy.name};
            if (unsure.contains(queue)) continue;
            const std::int64_t least = books_.guaranteed(queue);
            const bool may_be = pool.preemption.guarantees == GuaranteeRule::when_demand_fits;
            const bool wants_more = held[queue] + waiting[queue] > least;
            if (beyond_guarantee_.contains(queue) == (may_be && least > 0 && wants_more)) continue;
            // Who waits for nobody to be tried is not looked at before somebody is.
            if (!wants_more && waiting[queue] == 0) continue;
            fail("I17", "queue " + queue.queue + (wants_more ? " wants" : " no longer wants") +
                            " more than it is guaranteed, and nobody knows");
        }
    }
}

}  // namespace gpuctl::sim
