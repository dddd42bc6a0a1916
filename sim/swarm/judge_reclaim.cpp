// I17, between queues: what is taken back was lent, and nobody is left with less than guaranteed.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

std::pair<QueueName, QueueName> Judge::sides(const QueueName& own, const QueueName& other) const {
    const std::vector<QueueName> mine = books_.chain(own);
    const std::vector<QueueName> theirs = books_.chain(other);
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

std::string Judge::guarantee_broken(const Books& then, const QueueName& leaf, const QueueName& last,
                                    const std::string& model) const {
    for (const QueueName& queue : books_.chain(leaf)) {
        // What those below it keep back is spoken for, though nobody holds it.
        const auto held = then.held_by_queue(queue.pool, Books::Claims::counted);
        if (then.taken(queue, {}, 0, held) < promised(queue)) return queue.queue;
        const QueuePolicy* known = books_.policy_of(queue);
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

bool Judge::is_owed(const QueueName& queue, const QueueName& leaf, const Amounts& ask,
                    const Books& before) const {
    const auto held = before.held_by_queue(queue.pool, Books::Claims::counted);
    return before.taken(queue, leaf, ask.gpus, held) <= promised(queue);
}

void Judge::check_reclaim(const std::vector<EvictPod>& evictions, const PodFacts& like,
                          const Amounts& ask, const Books& then, const Books& before) {
    const QueueName mine = books_.queue_of(like);
    for (const EvictPod& eviction : evictions) {
        const BookedPod& victim = books_.pods.at(eviction.pod.uid);
        const QueueName theirs = books_.queue_of(victim.facts);
        if (theirs == mine || is_stranded(victim.facts)) continue;
        const bool is_for_short = stops_long_for_short(mine) && stops_long_for_short(theirs);
        if (!is_for_short) ++probes.pods_reclaimed;
        const std::string what = "pod " + to_string(eviction.pod.key) + " of queue " + theirs.queue;
        const auto [own, other] = sides(mine, theirs);
        if (own.queue.empty() || other.queue.empty() || mine.pool != theirs.pool) {
            fail("I17", what + " is stopped for queue " + mine.queue + ", which lent it nothing");
            continue;
        }
        if (!is_owed(own, mine, ask, before) && !is_for_short) {
            fail("I17",
                 what + " is stopped although queue " + own.queue + " has what it is guaranteed");
        }
        if (amounts_of(victim.facts.request).gpus == 0) {  // no guarantee counts what it holds
            if (!is_for_short) ++probes.guests_cleared;
            continue;
        }
        const auto node = books_.nodes.find(victim.where());
        const std::string model = node == books_.nodes.end() ? "" : node->second.gpu_model;
        const std::string broken = guarantee_broken(then, theirs, other, model);
        if (!broken.empty()) {
            fail("I17", what + " is stopped, and queue " + broken + " falls below its guarantee");
        }
    }
}

std::optional<Books> Judge::without_loans(const ClusterState& state, const PodFacts& like,
                                          const Amounts& ask) const {
    if (ask.gpus == 0) return std::nullopt;
    const QueueName mine = books_.queue_of(like);
    std::set<QueueName> owed;  // of its chain
    for (const QueueName& queue : books_.chain(mine)) {
        if (is_owed(queue, mine, ask, books_)) owed.insert(queue);
    }
    if (owed.empty()) return std::nullopt;
    struct Loan {
        std::string uid;
        QueueName leaf;
        QueueName last;
        std::string model;
    };
    std::vector<Loan> loans;
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        const QueueName theirs = books_.queue_of(pod.facts);
        if (theirs == mine || !books_.exists(theirs)) continue;
        if (theirs.pool != mine.pool || amounts_of(pod.facts.request).gpus == 0) continue;
        const auto [own, other] = sides(mine, theirs);
        if (own.queue.empty() || other.queue.empty() || !owed.contains(own)) continue;
        if (!unit_may_be_stopped(state, pod, mine.pool)) continue;
        loans.push_back({uid, theirs, other, books_.nodes.at(pod.where()).gpu_model});
    }
    if (loans.empty()) return std::nullopt;
    Books then = books_;
    for (const Loan& loan : loans) then.pods.at(loan.uid).facts.phase = PodPhase::failed;
    for (const Loan& loan : loans) {
        if (!guarantee_broken(then, loan.leaf, loan.last, loan.model).empty()) return std::nullopt;
    }
    return then;
}

std::vector<std::string> Judge::guests_in_the_way(const ClusterState& state, const PodFacts& like,
                                                  const Amounts& ask) const {
    if (ask.gpus == 0) return {};
    const QueueName mine = books_.queue_of(like);
    std::vector<std::string> guests;
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        if (amounts_of(pod.facts.request).gpus > 0) continue;
        const QueueName theirs = books_.queue_of(pod.facts);
        if (theirs == mine || theirs.pool != mine.pool || !books_.exists(theirs)) continue;
        const auto [own, other] = sides(mine, theirs);
        if (own.queue.empty() || other.queue.empty()) continue;
        if (!is_owed(own, mine, ask, books_)) continue;
        if (unit_may_be_stopped(state, pod, mine.pool)) guests.push_back(uid);
    }
    return guests;
}

}  // namespace gpuctl::sim
