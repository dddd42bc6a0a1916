// Explains that the pool blocks the job: nodes that would accept the pod are in another pool.

#include <map>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/nodes/pins.hpp"

namespace gpuctl::explain_parts {
namespace {

struct InPool {
    std::int64_t nodes = 0;
    std::string_view first;  // first node by name
};

// By name of the pool: nodes that accept the pod, and those of them that would have room for a rank
// if they were empty.
std::map<std::string_view, InPool> find_nodes_in_other_pools(const ClusterState& state,
                                                             const JobRow& job,
                                                             const Group& group) {
    std::map<std::string_view, InPool> found;
    const Shape& shape = state.shape_of(group.shape);
    const PlacementRules& rules = state.rules_of(shape);
    for (std::uint32_t slot = 0; slot < state.nodes.node_slots(); ++slot) {
        const NodeRow& row = state.node(NodeId{slot});
        if (!row.known || row.pool == job.pool) continue;
        const bool is_allowed = group.open != nullptr
                                    ? group.open->contains(slot)
                                    : first_refusal(rules, row.facts) == NodeRefusal::none;
        if (!is_allowed) continue;
        if (state.nodes.capacity().fitting_empty(slot, shape.needs, 1) == 0) continue;
        InPool& in = found[row.facts.pool];
        if (in.nodes++ == 0 || row.facts.name < in.first) in.first = row.facts.name;
    }
    return found;
}

// For a pod that names nodes: reports if none of these nodes exists.
std::optional<Fact> missing_node(const ClusterState& state, const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const NodePin& pin = pod.facts.pin;
        const bool waits = pod.bind.state == BindState::waiting && !pod.facts.terminating;
        if (!waits || !pin.exists() || named_node(state, pod.facts).exists()) continue;
        const std::size_t others = pins_of(pod.facts).size() - 1;
        return fact::NamedNodeMissing{pin.label, pin.value, static_cast<std::int64_t>(others)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Fact> nodes_in_other_pools(const ClusterState& state, const JobRow& job,
                                         const Group& group) {
    const auto found = find_nodes_in_other_pools(state, job, group);
    if (found.empty()) return missing_node(state, job);
    fact::OtherPools out{job.pool_wanted, {}};
    for (const auto& [pool, in] : found) {
        out.pools.push_back({std::string{pool}, in.nodes, std::string{in.first}});
    }
    return out;
}

}  // namespace gpuctl::explain_parts
