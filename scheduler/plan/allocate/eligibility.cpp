#include "scheduler/plan/allocate/eligibility.hpp"

#include "scheduler/policy/filter.hpp"

namespace gpuctl {

void EligibilityCache::check_node(const ClusterState& state, const Constraint& constraint,
                                  std::uint32_t slot, NodeSet& nodes) {
    const NodeRow& row = state.node(NodeId{slot});
    if (row.known && !state.maintenance.is_closed(NodeId{slot}) &&
        first_refusal(constraint.rules, row.facts) == NodeRefusal::none) {
        nodes.insert(slot);
    } else {
        nodes.erase(slot);
    }
}

const NodeSet& EligibilityCache::of(const ClusterState& state, ConstraintId id) {
    if (entries_.size() <= id.value()) entries_.resize(id.value() + 1);
    Entry& entry = entries_[id.value()];
    const Constraint& constraint = state.pods.shapes().constraint(id);
    entry.nodes.resize(state.nodes.node_slots());
    const std::vector<std::uint32_t>& log = state.nodes.eligibility_log();
    if (entry.serial != constraint.serial || entry.epoch != state.nodes.eligibility_epoch()) {
        for (std::uint32_t slot = 0; slot < state.nodes.node_slots(); ++slot) {
            check_node(state, constraint, slot, entry.nodes);
        }
        entry.serial = constraint.serial;
        entry.epoch = state.nodes.eligibility_epoch();
        entry.position = log.size();
        return entry.nodes;
    }
    for (; entry.position < log.size(); ++entry.position) {
        check_node(state, constraint, log[entry.position], entry.nodes);
    }
    return entry.nodes;
}

const NodeSet& EligibilityCache::outside(const ClusterState& state, ConstraintId id,
                                         WindowSet windows) {
    const NodeSet& now = of(state, id);
    const Constraint& constraint = state.pods.shapes().constraint(id);
    const std::size_t position = state.nodes.eligibility_log().size();
    for (const Outside& known : outside_) {
        if (known.id == id && known.serial == constraint.serial && known.windows == windows &&
            known.epoch == state.nodes.eligibility_epoch() && known.position == position) {
            return known.nodes;
        }
    }
    Outside& entry = outside_[outside_next_++ % kOutsideMost];
    entry = {id, constraint.serial, windows, state.nodes.eligibility_epoch(), position, now};
    for (const std::uint32_t slot : state.maintenance.calendar().nodes) {
        const NodeRow& row = state.node(NodeId{slot});
        const bool is_open = row.known && (row.windows & windows) == 0 &&
                             first_refusal(constraint.rules, row.facts) == NodeRefusal::none;
        if (is_open) {
            entry.nodes.insert(slot);
        } else {
            entry.nodes.erase(slot);
        }
    }
    return entry.nodes;
}

}  // namespace gpuctl
