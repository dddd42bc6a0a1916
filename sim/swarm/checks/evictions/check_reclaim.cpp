// I17 between queues: only lent capacity is reclaimed, and no queue falls below its guarantee.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

std::pair<QueueName, QueueName> Checker::diverging_queues(const QueueName& own,
                                                          const QueueName& other) const {
    const std::vector<QueueName> mine = reference_.chain(own);
    const std::vector<QueueName> theirs = reference_.chain(other);
    const auto is_in = [](const std::vector<QueueName>& chain, const QueueName& queue) {
        return std::find(chain.begin(), chain.end(), queue) != chain.end();
    };
    std::pair<QueueName, QueueName> out;
    for (const QueueName& queue : mine) {
        if (!is_in(theirs, queue)) out.first = queue;
    }
    for (const QueueName& queue : theirs) {
        if (!is_in(mine, queue)) out.second = queue;
    }
    return out;
}

std::string Checker::guarantee_broken(const ReferenceModel& then, const QueueName& leaf,
                                      const QueueName& last, const std::string& model) const {
    for (const QueueName& queue : reference_.chain(leaf)) {
        // The part that its sub-queues do not lend counts as held.
        const auto held = then.held_by_queue(queue.pool, ReferenceModel::Nominations::counted);
        if (then.gpus_reserved_below(queue, {}, 0, held) < effective_guarantee(queue))
            return queue.queue;
        const QueuePolicy* known = reference_.policy_of(queue);
        if (known != nullptr && !beyond_guarantee_.contains(queue)) {
            for (const ModelLimit& limit : known->models) {
                if (limit.model != model) continue;
                if (then.held_of_model(queue, model) < limit.guaranteed.value()) return queue.queue;
            }
        }
        if (queue == last) break;
    }
    return "";
}

bool Checker::is_below_guarantee(const QueueName& queue, const QueueName& leaf, const Amounts& ask,
                                 const ReferenceModel& before) const {
    const auto held = before.held_by_queue(queue.pool, ReferenceModel::Nominations::counted);
    return before.gpus_reserved_below(queue, leaf, ask.gpus, held) <= effective_guarantee(queue);
}

void Checker::check_reclaim(const std::vector<EvictPod>& evictions, const PodFacts& like,
                            const Amounts& ask, const ReferenceModel& then,
                            const ReferenceModel& before) {
    const QueueName mine = reference_.queue_of(like);
    for (const EvictPod& eviction : evictions) {
        const ReferencePod& victim = reference_.pods.at(eviction.pod.uid);
        const QueueName theirs = reference_.queue_of(victim.facts);
        if (theirs == mine || is_stranded(victim.facts)) continue;
        const bool is_by_remaining_time =
            preempts_by_remaining_time(mine) && preempts_by_remaining_time(theirs);
        if (!is_by_remaining_time) ++probes.pods_reclaimed;
        const std::string what = "pod " + to_string(eviction.pod.key) + " of queue " + theirs.queue;
        const auto [own, other] = diverging_queues(mine, theirs);
        if (own.queue.empty() || other.queue.empty() || mine.pool != theirs.pool) {
            fail("I17", what + " is evicted for queue " + mine.queue + ", which lent it nothing");
            continue;
        }
        if (!is_below_guarantee(own, mine, ask, before) && !is_by_remaining_time) {
            fail("I17",
                 what + " is evicted although queue " + own.queue + " has what it is guaranteed");
        }
        if (amounts_of(victim.facts.request).gpus == 0) {  // CPU-only: guarantees do not count it
            if (!is_by_remaining_time) ++probes.cpu_only_pods_cleared;
            continue;
        }
        const auto node = reference_.nodes.find(victim.where());
        const std::string model = node == reference_.nodes.end() ? "" : node->second.gpu_model;
        const std::string broken = guarantee_broken(then, theirs, other, model);
        if (!broken.empty()) {
            fail("I17", what + " is evicted, and queue " + broken + " falls below its guarantee");
        }
    }
}

std::optional<ReferenceModel> Checker::without_lent_capacity(const ClusterState& state,
                                                             const PodFacts& like,
                                                             const Amounts& ask) const {
    if (ask.gpus == 0) return std::nullopt;
    const QueueName mine = reference_.queue_of(like);
    std::set<QueueName> owed;  // queues of its chain within their guarantee
    for (const QueueName& queue : reference_.chain(mine)) {
        if (is_below_guarantee(queue, mine, ask, reference_)) owed.insert(queue);
    }
    if (owed.empty()) return std::nullopt;
    struct Loan {
        std::string uid;
        QueueName leaf;
        QueueName last;
        std::string model;
    };
    std::vector<Loan> loans;
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        const QueueName theirs = reference_.queue_of(pod.facts);
        if (theirs == mine || !reference_.exists(theirs)) continue;
        if (theirs.pool != mine.pool || amounts_of(pod.facts.request).gpus == 0) continue;
        const auto [own, other] = diverging_queues(mine, theirs);
        if (own.queue.empty() || other.queue.empty() || !owed.contains(own)) continue;
        if (!unit_may_be_evicted(state, pod, mine.pool)) continue;
        loans.push_back({uid, theirs, other, reference_.nodes.at(pod.where()).gpu_model});
    }
    if (loans.empty()) return std::nullopt;
    ReferenceModel then = reference_;
    for (const Loan& loan : loans) then.pods.at(loan.uid).facts.phase = PodPhase::failed;
    for (const Loan& loan : loans) {
        if (!guarantee_broken(then, loan.leaf, loan.last, loan.model).empty()) return std::nullopt;
    }
    return then;
}

std::vector<std::string> Checker::blocking_cpu_pods(const ClusterState& state, const PodFacts& like,
                                                    const Amounts& ask) const {
    if (ask.gpus == 0) return {};
    const QueueName mine = reference_.queue_of(like);
    std::vector<std::string> cpu_only_pods;
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        if (amounts_of(pod.facts.request).gpus > 0) continue;
        const QueueName theirs = reference_.queue_of(pod.facts);
        if (theirs == mine || theirs.pool != mine.pool || !reference_.exists(theirs)) continue;
        const auto [own, other] = diverging_queues(mine, theirs);
        if (own.queue.empty() || other.queue.empty()) continue;
        if (!is_below_guarantee(own, mine, ask, reference_)) continue;
        if (unit_may_be_evicted(state, pod, mine.pool)) cpu_only_pods.push_back(uid);
    }
    return cpu_only_pods;
}

}  // namespace gpuctl::sim
