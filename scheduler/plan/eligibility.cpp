#include "scheduler/plan/eligibility.hpp"

#include "scheduler/policy/filter.hpp"

namespace gpuctl {

void EligibilityCache::judge(const ClusterState& state, const Constraint& constraint,
                             std::uint32_t slot, NodeSet& nodes) {
    const NodeRow& row = state.node(NodeId{slot});
    if (row.known && first_refusal(constraint.rules, row.facts) == NodeRefusal::none) {
        nodes.insert(slot);
    } else {
        nodes.erase(slot);
    }
}

const NodeSet& EligibilityCache::of(const ClusterState& state, ConstraintId id) {
    if (entries_.size() <= id.value()) entries_.resize(id.value() + 1);
    Entry& entry = entries_[id.value()];
    const Constraint& constraint = state.shapes().constraint(id);
    entry.nodes.resize(state.node_slots());
    const std::vector<std::uint32_t>& log = state.eligibility_log();
    if (entry.serial != constraint.serial || entry.epoch != state.eligibility_epoch()) {
        for (std::uint32_t slot = 0; slot < state.node_slots(); ++slot) {
            judge(state, constraint, slot, entry.nodes);
        }
        entry.serial = constraint.serial;
        entry.epoch = state.eligibility_epoch();
        entry.position = log.size();
        return entry.nodes;
    }
    for (; entry.position < log.size(); ++entry.position) {
        judge(state, constraint, log[entry.position], entry.nodes);
    }
    return entry.nodes;
}

}  // namespace gpuctl
