// Jobs that accept several GPU models in an order of preference (docs/adr/0021): the first model
// that has room for the whole request now. A gang uses one model, since its ranks would wait for
// the slowest.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/allocate/placer.hpp"

namespace gpuctl {

bool Placer::place_all(const ClusterState& state, TrialCapacity trial, PoolId pool,
                       const std::vector<PodId>& pods, std::vector<Placement>& out) {
    const Shape& shape = state.shape_of(pods.front());
    const PlacementRules& rules = state.rules_of(shape);
    if (!rules.takes_several_models() || has_fault(SeededFault::ignore_model_preference)) {
        return place_now(state, trial, pool, pods, out);
    }
    std::vector<std::string_view> gang_models;
    if (!runs_now(state, pods.front())) gang_models = state.gangs.models_of_gang(pods.front());
    const auto is_placed_on = [&](const std::string& model) {
        if (!is_model_among(gang_models, model)) return false;
        only_model_ = model;
        const bool is_placed = place_now(state, trial, pool, pods, out);
        only_model_ = {};
        return is_placed;
    };
    return is_placed_on(rules.gpu_model) ||
           std::any_of(rules.gpu_models_next.begin(), rules.gpu_models_next.end(), is_placed_on);
}

}  // namespace gpuctl
