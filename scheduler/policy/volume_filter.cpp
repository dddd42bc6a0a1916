#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {

const VolumeRule* unreachable_volume(const PlacementRules& rules, const NodeFacts& node) {
    for (const VolumeRule& volume : rules.volumes) {
        const bool is_reached =
            std::any_of(volume.terms.begin(), volume.terms.end(),
                        [&node](const SelectorTerm& term) { return matches_term(term, node); });
        if (!is_reached && !has_fault(SeededFault::ignore_volumes)) return &volume;
    }
    return nullptr;
}

}  // namespace gpuctl
