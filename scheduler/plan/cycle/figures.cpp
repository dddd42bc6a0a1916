#include "scheduler/plan/cycle/figures.hpp"

#include "scheduler/plan/cycle_plan.hpp"

namespace gpuctl {

void EngineFigures::count(const CyclePlan& plan) {
    ++plans;
    attempts += plan.effort.attempts;
    skipped_by_negative_cache += plan.effort.known_refusals;
    reservation_searches += plan.effort.reservation_searches;
    for (const CyclePlan::Placed& one : plan.placed) {
        if (one.why == CyclePlan::PlacedFor::turn) ++placements;
        if (one.why == CyclePlan::PlacedFor::growth) ++ranks_grown;
    }
    refusals.resize(kReasons.size());
    for (const CyclePlan::Refused& one : plan.refused) {
        ++refusals[static_cast<std::size_t>(one.reason)];
    }
}

}  // namespace gpuctl
