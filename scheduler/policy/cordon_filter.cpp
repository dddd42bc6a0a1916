#include "scheduler/policy/filter.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

bool passes_cordon(const PlacementRules& rules, const NodeFacts& node) {
    if (!node.unschedulable || has_fault(SeededFault::ignore_cordons)) return true;
    static const Taint cordoned{"node.kubernetes.io/unschedulable", "", TaintEffect::no_schedule};
    for (const Toleration& toleration : rules.tolerations) {
        if (tolerates(toleration, cordoned)) return true;
    }
    return false;
}

}  // namespace gpuctl
