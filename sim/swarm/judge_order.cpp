// I8: whose turn it was. What a Plan placed is compared pair by pair with what it placed later, and
// with what asks for exactly the same and still waits. Only pairs are judged whose later one was
// free to go first: it was placed in the same Plan, or would have fit in the earlier one's very
// place.

#include <tuple>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

std::string placed(const ObjectKey& first, const ObjectKey& before) {
    return "job " + to_string(first) + " was placed before job " + to_string(before) + ", ";
}

// held / weight of a is more than that of b; amounts of this size do not overflow.
bool had_more(std::int64_t held_a, std::int64_t weight_a, std::int64_t held_b,
              std::int64_t weight_b) {
    return held_a * weight_b > held_b * weight_a;
}

}  // namespace

void Judge::check_order(const std::vector<Turn>& turns, const ClusterState& after) {
    // What each queue and tenant held before the first turn: now, less all turns.
    Held held;
    const auto sum = [&](const BookedPod& pod, std::int64_t sign) {
        const std::int64_t gpus = amounts_of(pod.facts.request).gpus * sign;
        held[books_.queue_of(pod.facts)][pod.facts.key.namespace_name] += gpus;
    };
    for (const auto& [uid, pod] : books_.pods) {
        if (pod.holds()) sum(pod, 1);
    }
    const auto change = [&](const Turn& turn, std::int64_t sign) {
        held[books_.queue_of(turn.pod)][turn.job.namespace_name] +=
            amounts_of(turn.pod.request).gpus * turn.ranks * sign;
    };
    for (const Turn& turn : turns) change(turn, -1);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        for (std::size_t j = i + 1; j < turns.size(); ++j) {
            if (turns[j].job != turns[i].job) compare(turns[i], turns[j], held);
        }
        compare_waiting(turns[i], after);
        change(turns[i], 1);
    }
}

void Judge::compare(const Turn& first, const Turn& later, const Held& held) {
    const QueueName a = books_.queue_of(first.pod);
    const QueueName b = books_.queue_of(later.pod);
    if (a.pool != b.pool || first.resumes) return;
    ++probes.orders_compared;
    const std::string what = placed(first.job, later.job);
    if (later.resumes) return fail("I8", what + "whose gang is half there");
    const auto held_by = [&held](const QueueName& queue, const std::string* tenant) {
        std::int64_t sum = 0;
        const auto of = held.find(queue);
        if (of == held.end()) return sum;
        for (const auto& [name, gpus] : of->second) {
            if (tenant == nullptr || *tenant == name) sum += gpus;
        }
        return sum;
    };
    if (a != b) {
        static const QueuePolicy plain;
        const QueuePolicy* known_a = books_.policy_of(a);
        const QueuePolicy* known_b = books_.policy_of(b);
        const QueuePolicy& x = known_a ? *known_a : plain;
        const QueuePolicy& y = known_b ? *known_b : plain;
        if (x.priority != y.priority) {
            if (x.priority < y.priority) fail("I8", what + "whose queue has priority");
            return;
        }
        const std::int64_t held_a = held_by(a, nullptr);
        const std::int64_t held_b = held_by(b, nullptr);
        const bool owed_a = held_a < x.guaranteed.value();
        const bool owed_b = held_b < y.guaranteed.value();
        if (owed_a != owed_b) {
            if (owed_b) fail("I8", what + "whose queue is under its guarantee");
            return;
        }
        if (had_more(held_a, x.weight, held_b, y.weight)) {
            fail("I8", what + "whose queue had less for its weight");
        }
        return;
    }
    if (first.pod.priority != later.pod.priority) {
        if (first.pod.priority < later.pod.priority) fail("I8", what + "which has priority");
        return;
    }
    if (books_.backfill_of(a.pool).order == JobOrder::shortest) return;  // not by age or share
    const std::string& tenant_a = first.job.namespace_name;
    const std::string& tenant_b = later.job.namespace_name;
    if (tenant_a != tenant_b) {
        const auto weight = [this](const std::string& name) {
            const TenantPolicy* known = books_.tenant(name);
            return known ? known->weight : books_.policy.default_tenant_weight;
        };
        const std::int64_t x = held_by(a, &tenant_a);
        const std::int64_t y = held_by(b, &tenant_b);
        if (had_more(x, weight(tenant_a), y, weight(tenant_b))) {
            return fail("I8", what + "whose namespace had less for its weight");
        }
        if (had_more(y, weight(tenant_b), x, weight(tenant_a))) return;
    }
    if (std::tie(later.submitted_at, later.arrival) < std::tie(first.submitted_at, first.arrival)) {
        fail("I8", what + "which came earlier");
    }
}

void Judge::compare_waiting(const Turn& turn, const ClusterState& after) {
    if (turn.resumes) return;
    const BackfillPolicy backfill = books_.backfill_of(books_.queue_of(turn.pod).pool);
    if (backfill.order == JobOrder::shortest) return;
    Readiness ready;
    for (const auto& [key, id] : after.jobs_by_key()) {
        const JobRow& other = after.job(id);
        if (key == turn.job || key.namespace_name != turn.job.namespace_name) continue;
        if (std::tie(turn.pod.priority, other.submitted_at, other.arrival) >=
            std::tie(other.priority, turn.submitted_at, turn.arrival)) {
            continue;  // it comes after
        }
        after.read_readiness(id, ready);
        if (ready.hold != Reason::none || ready.pods.empty() || ready.resume) continue;
        if (ready.all_or_nothing != turn.gang) continue;
        if (turn.gang && ready.ranks_needed != turn.ranks) continue;
        const PodFacts& pod = after.pod(ready.pods.front()).facts;
        if (pod.request != turn.pod.request || pod.rules != turn.pod.rules ||
            books_.queue_of(pod) != books_.queue_of(turn.pod)) {
            continue;
        }
        // Beside a promise it depends on the limit who may go.
        if (backfill.head == HeadOfLine::reserve && pod.run_time_max != turn.pod.run_time_max) {
            continue;
        }
        ++probes.orders_compared;
        if (turn.pod.priority > other.priority) continue;
        fail("I8", placed(turn.job, key) + "which asks for the same, comes first and still waits");
    }
}

}  // namespace gpuctl::sim
