// Budgets of GPU time: the time that every pod held, period by period, and the time that it may
// still hold.

#include <algorithm>

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {
namespace {

// Step by step from the anchor, which the swarm draws close to now.
Instant begin_of_period(const BudgetPolicy& budget, Instant now) {
    Instant begin = budget.anchor;
    while (begin + budget.period <= now) begin = begin + budget.period;
    while (begin > now) begin = Instant{begin.ms() - budget.period.ms()};
    return begin;
}

}  // namespace

std::map<ReferenceModel::Payer, BudgetPolicy> ReferenceModel::budgets_in(const Policy& policy) {
    std::map<Payer, BudgetPolicy> out;
    for (const PoolPolicy& pool : policy.pools) {
        for (const QueuePolicy& queue : pool.queues) {
            if (queue.budget) out[{{pool.name, queue.name}, ""}] = *queue.budget;
        }
    }
    for (const TenantPolicy& one : policy.tenants) {
        for (const PoolQuota& quota : one.pools) {
            if (quota.budget) out[{{quota.pool, ""}, one.name}] = *quota.budget;
        }
    }
    return out;
}

bool ReferenceModel::draws_on(const PodFacts& pod, const Payer& payer) const {
    const QueueName leaf = queue_of(pod);
    if (!exists(leaf) || leaf.pool != payer.first.pool) return false;
    if (!payer.second.empty()) return pod.key.namespace_name == payer.second;
    const std::vector<QueueName> of = chain(leaf);
    return std::find(of.begin(), of.end(), payer.first) != of.end();
}

// Budgets with unchanged periods continue; other budgets start again.
void ReferenceModel::change_budgets(const std::map<Payer, BudgetPolicy>& before) {
    std::map<Payer, Spent> next;
    for (const auto& [payer, budget] : budgets()) {
        const auto known = before.find(payer);
        const bool is_continued = known != before.end() && known->second.period == budget.period &&
                                  known->second.anchor == budget.anchor;
        next[payer] = is_continued ? spent_.at(payer) : Spent{begin_of_period(budget, now), 0, 0};
    }
    spent_ = std::move(next);
}

void ReferenceModel::spend(Instant until) {
    if (spent_.empty() || until == now) return;
    const std::map<Payer, BudgetPolicy> all = budgets();
    for (auto& [payer, spent] : spent_) {
        const BudgetPolicy& budget = all.at(payer);
        std::int64_t held = 0;
        for (const auto& [uid, pod] : pods) {
            if (pod.holds() && pod.is_bound() && draws_on(pod.facts, payer)) {
                held += amounts_of(pod.facts.request).gpus;
            }
        }
        Instant at = now;
        while (at < until) {
            const Instant end = spent.begin + budget.period;
            const Instant stop = std::min(until, end);
            spent.used += held * (stop - at).ms();
            at = stop;
            if (at < end) continue;
            const std::int64_t left = budget.amount.value() + spent.carried - spent.used;
            spent = {end, 0, std::min(left, budget.carry_over.value())};
        }
    }
}

std::optional<ReferenceModel::BudgetCount> ReferenceModel::count_budget(const Payer& payer) const {
    const auto found = spent_.find(payer);
    if (found == spent_.end()) return std::nullopt;
    const BudgetPolicy budget = budgets().at(payer);
    BudgetCount out;
    out.end = found->second.begin + budget.period;
    out.limit = budget.amount.value() + found->second.carried;
    out.used = found->second.used;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || !draws_on(pod.facts, payer)) continue;
        if (!pod.is_bound()) {  // only nominated: as if it started now
            out.committed += needed_of(out, pod.facts, amounts_of(pod.facts.request).gpus);
            continue;
        }
        const auto known = ends_.find(uid);
        Instant end = out.end;
        if (known != ends_.end() && known->second.happened()) end = std::min(end, known->second);
        if (end > now) out.committed += amounts_of(pod.facts.request).gpus * (end - now).ms();
    }
    return out;
}

std::int64_t ReferenceModel::needed_of(const BudgetCount& budget, const PodFacts& pod,
                                       std::int64_t gpus) const {
    Duration time = budget.end - now;
    if (pod.run_time_max > Duration{}) time = std::min(time, pod.run_time_max);
    return gpus * time.ms();
}

std::string ReferenceModel::budget_crossed(const PodFacts& pod, std::int64_t gpus) const {
    for (const auto& [payer, spent] : spent_) {
        if (gpus == 0 || !draws_on(pod, payer)) continue;
        const BudgetCount budget = *count_budget(payer);
        if (budget.used + budget.committed + needed_of(budget, pod, gpus) <= budget.limit) continue;
        return "GPU time of " +
               (payer.second.empty() ? "queue " + payer.first.queue : "namespace " + payer.second) +
               " in pool " + payer.first.pool;
    }
    return "";
}

}  // namespace gpuctl::sim
