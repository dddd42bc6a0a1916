#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {

bool matches_gpu_model(const PlacementRules& rules, const NodeFacts& node) {
    return takes_gpu_model(rules, node.gpu_model) || has_fault(SeededFault::ignore_gpu_models);
}

bool has_whole_gpus(const PlacementRules& rules, const NodeFacts& node) {
    return !rules.wants_whole_gpus || !calls_slices_gpus(node.allocatable);
}

}  // namespace gpuctl
