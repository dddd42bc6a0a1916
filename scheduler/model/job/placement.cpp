#include "scheduler/model/job/placement.hpp"

namespace gpuctl {

std::vector<std::string> gpu_models(const PlacementRules& rules) {
    std::vector<std::string> out;
    if (!rules.gpu_model.empty()) out.push_back(rules.gpu_model);
    out.insert(out.end(), rules.gpu_models_next.begin(), rules.gpu_models_next.end());
    return out;
}

}  // namespace gpuctl
