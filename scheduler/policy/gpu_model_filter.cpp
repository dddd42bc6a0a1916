#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool matches_gpu_model(const PlacementRules& rules, const NodeFacts& node) {
    if (rules.gpu_model.empty() || planted(PlantedBug::ignore_gpu_models)) return true;
    return std::equal(rules.gpu_model.begin(), rules.gpu_model.end(), node.gpu_model.begin(),
                      node.gpu_model.end(), [](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace gpuctl
