#include "scheduler/policy/filter.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (toleration.effect && *toleration.effect != taint.effect) return false;
    if (toleration.key.empty()) return toleration.op == TolerationOperator::exists;
    if (toleration.key != taint.key) return false;
    return toleration.op == TolerationOperator::exists || toleration.value == taint.value;
}

const Taint* untolerated_taint(const PlacementRules& rules, const NodeFacts& node) {
    for (const Taint& taint : node.taints) {
        if (taint.effect == TaintEffect::prefer_no_schedule) continue;  // only affects scores
        bool tolerated = false;
        for (const Toleration& toleration : rules.tolerations) {
            tolerated = tolerated || tolerates(toleration, taint);
        }
        if (!tolerated && !has_fault(SeededFault::ignore_taints)) return &taint;
    }
    return nullptr;
}

}  // namespace gpuctl
