// I21: used and committed GPU time of each budget, and every reason that names one, agree with the
// reference model. That no job starts beyond a budget is checked with all other limits.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"
#include "wording/wording.hpp"

namespace gpuctl::sim {

void Checker::check_budget(const ReferenceModel::Payer& payer, const Budget& budget, Instant now) {
    ++probes.budgets_recounted;
    const std::string name = payer.second.empty() ? "the budget of queue " + payer.first.queue
                                                  : "the budget of namespace " + payer.second;
    const auto counted = reference_.count_budget(payer);
    if (!counted) return fail("I21", name + " is unknown to the reference model");
    const auto expect = [&](const char* what, std::int64_t said, std::int64_t is) {
        if (said == is) return;
        fail("I21", name + ": " + what + " is reported as " + std::to_string(said) + " and is " +
                        std::to_string(is));
    };
    const Spending& spending = budget.spending;
    expect("the end of its period", spending.period().end.ms(), counted->end.ms());
    expect("its limit", (budget.policy.amount + spending.carried()).value(), counted->limit);
    expect("what was used", spending.used(now).value(), counted->used);
    expect("what is committed", spending.committed(now).value(), counted->committed);
    if (spending.carried() < GpuTime{}) ++probes.budgets_overdrawn;
}

void Checker::check_budgets(const ClusterState& state) {
    for (const auto& [id, budget] : state.accounts.budgets().queues()) {
        const QueueRow& queue = state.queue(id);
        check_budget({{state.pool(queue.pool).name, queue.name}, ""}, budget, state.now());
    }
    for (const auto& [of, budget] : state.accounts.budgets().tenants()) {
        check_budget({{state.pool(of.second).name, ""}, state.tenant(of.first).name}, budget,
                     state.now());
    }
}

void Checker::recount_budget(const std::string& name, const PodFacts& pod, const Readiness& ready,
                             const Explanation& explanation) {
    ++probes.waits_for_budgets;
    const std::int64_t gpus = amounts_of(pod.request).gpus * ready.ranks_at_once();
    const auto is_it = [&](const ReferenceModel::Payer& payer) {
        if (!reference_.draws_on(pod, payer)) return false;
        const auto counted = reference_.count_budget(payer);
        return counted && figure(explanation, "gpu_time_limit") == counted->limit &&
               figure(explanation, "gpu_time_used") == counted->used &&
               figure(explanation, "gpu_time_committed") == counted->committed &&
               figure(explanation, "gpu_time_needed") ==
                   reference_.needed_of(*counted, pod, gpus) &&
               counted->used + counted->committed + figure(explanation, "gpu_time_needed") >
                   counted->limit;
    };
    const auto all = reference_.budgets();
    if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return is_it(one.first); })) {
        fail("I15", name + "no budget has these figures: " + wording::sentence(explanation));
    }
}

}  // namespace gpuctl::sim
