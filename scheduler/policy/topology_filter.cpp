#include "scheduler/policy/filter.hpp"

namespace gpuctl {

bool has_domains(const PlacementRules& rules, const NodeFacts& node) {
    for (const TopologyLevel level : {rules.topology.required, rules.topology.spread}) {
        if (level == TopologyLevel::none) continue;
        // A node without a host label is a host of its own.
        if (level != TopologyLevel::host && node.topology.of(level).empty()) return false;
    }
    return true;
}

}  // namespace gpuctl
