// Where a pool is what is in the way: nodes that would take the pod are in another one.

#include <map>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/pins.hpp"

namespace gpuctl::explain_parts {
namespace {

struct InPool {
    std::int64_t nodes = 0;
    std::string_view first;  // by name
};

// By name of the pool: nodes that are allowed, and on which a rank fits when they are empty.
std::map<std::string_view, InPool> nodes_elsewhere(const ClusterState& state, const JobRow& job,
                                                   const Group& group) {
    std::map<std::string_view, InPool> found;
    const Shape& shape = state.shapes().at(group.shape);
    const PlacementRules& rules = state.shapes().constraint(shape.constraint).rules;
    for (std::uint32_t slot = 0; slot < state.node_slots(); ++slot) {
        const NodeRow& row = state.node(NodeId{slot});
        if (!row.known || row.pool == job.pool) continue;
        const bool is_allowed = group.open != nullptr
                                    ? group.open->contains(slot)
                                    : first_refusal(rules, row.facts) == NodeRefusal::none;
        if (!is_allowed) continue;
        if (state.capacity().fitting_empty(slot, shape.needs, 1) == 0) continue;
        InPool& in = found[row.facts.pool];
        if (in.nodes++ == 0 || row.facts.name < in.first) in.first = row.facts.name;
    }
    return found;
}

// Of a pod that names nodes of which none is there.
std::string missing_node(const ClusterState& state, const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const NodePin& pin = pod.facts.pin;
        const bool waits = pod.standing == PodStanding::waiting && !pod.facts.terminating;
        if (!waits || !pin.exists() || named_node(state, pod.facts).exists()) continue;
        const std::size_t others = pins_of(pod.facts).size() - 1;
        const std::string more = others == 0 ? "" : " or " + std::to_string(others) + " more";
        if (pin.label.empty()) {
            return others == 0
                       ? "; the node that it names, " + pin.value + ", is not there"
                       : "; of the nodes that it names, " + pin.value + more + ", none is there";
        }
        return "; no node has the label " + pin.label + "=" + pin.value + more + " that it names";
    }
    return "";
}

}  // namespace

std::string nodes_in_other_pools(const ClusterState& state, const JobRow& job, const Group& group) {
    const auto found = nodes_elsewhere(state, job, group);
    if (found.empty()) return missing_node(state, job);
    std::string text = "; it asks in pool " + job.pool_wanted + ", and ";
    bool is_first = true;
    for (const auto& [pool, in] : found) {
        if (!is_first) {
            text += ", " + std::to_string(in.nodes) + " in pool " + std::string{pool};
            continue;
        }
        is_first = false;
        text += in.nodes == 1 ? "node " + std::string{in.first} + ", which takes it, is"
                              : std::to_string(in.nodes) + " nodes that take it are";
        text += " in pool " + std::string{pool};
    }
    return text;
}

}  // namespace gpuctl::explain_parts
