#include "scheduler/base/planted.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {
bool matches_gpu_model(const PlacementRules& rules, const NodeFacts& node) {
    if (rules.gpu_model.empty() || planted(PlantedBug::ignore_gpu_models)) return true;
    return same_gpu_model(rules.gpu_model, node.gpu_model);
}

}  // namespace gpuctl
