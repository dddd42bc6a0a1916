// I8 between two queues: their branches below the common ancestor are compared by the order of the
// ancestor. Only what holds for every job of the later branch is checked, because its next job is
// not known here.

#include <algorithm>
#include <tuple>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

// The queues from each leaf up to the queue just below the common ancestor.
struct Branches {
    QueueName ancestor;
    std::vector<QueueName> a;
    std::vector<QueueName> b;
};

Branches branches_of(const ReferenceModel& reference, const QueueName& a, const QueueName& b) {
    Branches out{{a.pool, ""}, reference.chain(a), reference.chain(b)};
    while (!out.a.empty() && !out.b.empty() && out.a.back() == out.b.back()) {
        out.ancestor = out.a.back();
        out.a.pop_back();
        out.b.pop_back();
    }
    return out;
}

bool guarantees_models(const QueuePolicy& queue) {
    return std::any_of(queue.models.begin(), queue.models.end(),
                       [](const ModelLimit& of) { return of.guaranteed > GpuMilli{}; });
}

}  // namespace

std::string placed_before(const ObjectKey& first, const ObjectKey& before) {
    return "job " + to_string(first) + " was placed before job " + to_string(before) + ", ";
}

// True if held / weight of a is larger. The amounts are so small that the products do not overflow.
bool has_more(std::int64_t held_a, std::int64_t weight_a, std::int64_t held_b,
              std::int64_t weight_b) {
    return held_a * weight_b > held_b * weight_a;
}

void Checker::compare_queues(const PlacedJob& first, const PlacedJob& later, const Held& held) {
    const Branches of =
        branches_of(reference_, reference_.queue_of(first.pod), reference_.queue_of(later.pod));
    if (of.a.empty() || of.b.empty()) return;  // pods that stayed when their queue got sub-queues
    const QueueName& a = of.a.back();
    const QueueName& b = of.b.back();
    if (of.ancestor != QueueName{a.pool, ""}) ++probes.branches_compared;
    const QueuePolicy& x = reference_.policy_or_default(a);
    const QueuePolicy& y = reference_.policy_or_default(b);
    // Whether a model's guarantee counts depends on the next job there, which is not known here.
    if (guarantees_models(x) || guarantees_models(y)) return;
    const std::string what = placed_before(first.job, later.job);
    const Amounts held_a = held_below(a, held);
    const Amounts held_b = held_below(b, held);
    const std::int64_t guarantee_a = effective_guarantee(a);
    const std::int64_t guarantee_b = effective_guarantee(b);
    const bool is_owed_a = held_a.gpus < guarantee_a;
    const bool is_owed_b = held_b.gpus < guarantee_b;
    const auto is_decided_by_guarantee = [&] {
        if (is_owed_b && !is_owed_a) fail("I8", what + "whose queue is under its guarantee");
        return is_owed_a != is_owed_b;
    };
    const QueueOrder order = reference_.order_of(of.ancestor);
    if (order == QueueOrder::fifo) {
        if (!is_decided_by_guarantee()) compare_ages(first, later, of.b);
        return;
    }
    if (order == QueueOrder::capacity) {
        if (is_decided_by_guarantee()) return;
        if (is_owed_a && has_more(held_a.gpus, guarantee_a, held_b.gpus, guarantee_b)) {
            return fail("I8", what + "whose queue had less of its guarantee");
        }
        if (is_owed_a && has_more(held_b.gpus, guarantee_b, held_a.gpus, guarantee_a)) return;
    }
    if (x.priority != y.priority) {
        if (x.priority < y.priority) fail("I8", what + "whose queue has a higher priority");
        return;
    }
    if (order == QueueOrder::priority) {
        if (!is_decided_by_guarantee()) compare_priorities(first, later, of.b);
        return;
    }
    const bool is_by_share = order == QueueOrder::fair_share || order == QueueOrder::shortest;
    if (is_by_share && is_decided_by_guarantee()) return;
    const bool orders_by_run_time =
        order == QueueOrder::shortest && reference_.preemption_of(a.pool).stops_by_run_time();
    if (orders_by_run_time) return;  // by the remaining work of their next jobs
    const std::int64_t share_a = reference_.share(a, "", held_a);
    const std::int64_t share_b = reference_.share(b, "", held_b);
    if (has_more(share_a, x.weight, share_b, y.weight)) {
        fail("I8", what + "whose queue had less for its weight");
    }
    if (has_more(share_b, y.weight, share_a, x.weight)) return;
    if (has_more(reference_.share_in_this_tick(a, ""), x.weight,
                 reference_.share_in_this_tick(b, ""), y.weight)) {
        fail("I8", what + "whose queue had less recent usage for its weight");
    }
}

// Compares ages if every queue of the later branch is ordered by age.
void Checker::compare_ages(const PlacedJob& first, const PlacedJob& later,
                           const std::vector<QueueName>& branch) {
    const bool all_fifo = std::all_of(branch.begin(), branch.end(), [this](const QueueName& one) {
        return reference_.order_of(one) == QueueOrder::fifo;
    });
    const auto age = [](const PlacedJob& job) { return std::tie(job.submitted_at, job.arrival); };
    if (!all_fifo || age(later) >= age(first)) return;
    fail("I8", placed_before(first.job, later.job) + "which was submitted earlier");
}

// Compares priorities if the later branch is one queue whose next job is the job of the highest
// priority.
void Checker::compare_priorities(const PlacedJob& first, const PlacedJob& later,
                                 const std::vector<QueueName>& branch) {
    const QueueOrder of_leaf = reference_.order_of(branch.back());
    const bool next_is_known = branch.size() == 1 && (of_leaf == QueueOrder::priority ||
                                                      of_leaf == QueueOrder::fair_share ||
                                                      of_leaf == QueueOrder::shortest);
    if (!next_is_known || reference_.aged(first.pod.priority, first.submitted_at) >=
                              reference_.aged(later.pod.priority, later.submitted_at)) {
        return;
    }
    fail("I8",
         placed_before(first.job, later.job) + "which has a higher priority, and so has its queue");
}

}  // namespace gpuctl::sim
