// I21: what was used of each budget, and is committed, is what the books say; who is told that one
// stops him is told the truth. That nothing starts beyond one is a limit as all others are.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

void Judge::check_budget(const Books::Payer& payer, const Budget& budget, Instant now) {
    ++probes.budgets_recounted;
    const std::string name = payer.second.empty() ? "the budget of queue " + payer.first.queue
                                                  : "the budget of namespace " + payer.second;
    const auto counted = books_.count_budget(payer);
    if (!counted) return fail("I21", name + " is none");
    const auto expect = [&](const char* what, std::int64_t said, std::int64_t is) {
        if (said == is) return;
        fail("I21", name + ": " + what + " is told as " + std::to_string(said) + " and is " +
                        std::to_string(is));
    };
    const Spending& spending = budget.spending;
    expect("the end of its period", spending.period().end.ms(), counted->end.ms());
    expect("its limit", (budget.policy.amount + spending.carried()).value(), counted->limit);
    expect("what was used", spending.used(now).value(), counted->used);
    expect("what is committed", spending.committed(now).value(), counted->committed);
    if (spending.carried() < GpuTime{}) ++probes.budgets_overdrawn;
}

void Judge::look_at_budgets(const ClusterState& state) {
    for (const auto& [id, budget] : state.budgets().queues()) {
        const QueueRow& queue = state.queue(id);
        check_budget({{state.pool(queue.pool).name, queue.name}, ""}, budget, state.now());
    }
    for (const auto& [of, budget] : state.budgets().tenants()) {
        check_budget({{state.pool(of.second).name, ""}, state.tenant(of.first).name}, budget,
                     state.now());
    }
}

void Judge::recount_budget(const std::string& name, const PodFacts& pod, const Readiness& ready,
                           const Explanation& told) {
    ++probes.waits_for_budgets;
    const std::int64_t ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
    const std::int64_t gpus = amounts_of(pod.request).gpus * ranks;
    const auto is_it = [&](const Books::Payer& payer) {
        if (!books_.draws_on(pod, payer)) return false;
        const auto counted = books_.count_budget(payer);
        return counted && figure(told, "gpu_time_limit") == counted->limit &&
               figure(told, "gpu_time_used") == counted->used &&
               figure(told, "gpu_time_committed") == counted->committed &&
               figure(told, "gpu_time_needed") == books_.needed_of(*counted, pod, gpus) &&
               counted->used + counted->committed + figure(told, "gpu_time_needed") >
                   counted->limit;
    };
    const auto all = books_.budgets();
    if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return is_it(one.first); })) {
        fail("I15", name + "no budget stands so: " + told.sentence);
    }
}

}  // namespace gpuctl::sim
