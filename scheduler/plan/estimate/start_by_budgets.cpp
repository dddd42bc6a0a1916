#include "scheduler/plan/estimate/start_by_budgets.hpp"

#include <vector>

#include "scheduler/queue/budget_forecast.hpp"

namespace gpuctl {
namespace {

// each budget may postpone the start, and then the others are checked again
constexpr int kRoundsMost = 16;

}  // namespace

Instant begins_by_budgets(const ClusterState& state, const JobRow& job, GpuMilli gpus, Instant from,
                          Others others) {
    if (state.accounts.budgets().empty() || gpus <= GpuMilli{}) return from;
    std::vector<const Budget*> budgets{state.accounts.budgets().of(job.tenant, job.pool)};
    for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
        budgets.push_back(state.accounts.budgets().of(up));
    }
    Instant at = from;
    for (int i = 0; i < kRoundsMost; ++i) {
        const Instant before = at;
        for (const Budget* budget : budgets) {
            if (budget == nullptr) continue;
            std::vector<BudgetDraw> draws;
            if (others == Others::run_to_their_limits) draws = budget->spending.draws(state.now());
            at = begins_by_budget(budget->policy, budget->spending, draws,
                                  {gpus, job.run.time_max, GpuTime{}, state.now(), at});
            if (!at.happened()) return {};
        }
        if (at == before) return at;
    }
    return {};
}

}  // namespace gpuctl
