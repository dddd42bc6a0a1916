// Explains why no node of a pool accepts a pod, independent of room. The facts show whether the
// nodes or the selector must change.

#include <map>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

// What the node refuses the pod for: taints, labels, GPU models.
std::vector<std::string> names_of(NodeRefusal refusal, const PlacementRules& rules,
                                  const NodeFacts& node) {
    switch (refusal) {
        case NodeRefusal::taint: {
            const Taint* taint = untolerated_taint(rules, node);
            return {taint->key + (taint->value.empty() ? "" : "=" + taint->value)};
        }
        case NodeRefusal::selector: {
            std::vector<std::string> labels;
            for (const auto& [key, value] : rules.node_selector)
                labels.push_back(key + "=" + value);
            return labels;
        }
        case NodeRefusal::gpu_model: {
            std::vector<std::string> models;
            for (const std::string& model : gpu_models(rules)) models.push_back(model);
            return models;
        }
        case NodeRefusal::topology: {
            const TopologyLevel level = rules.topology.required != TopologyLevel::none
                                            ? rules.topology.required
                                            : rules.topology.spread;
            return {std::string{to_string(level)}};
        }
        case NodeRefusal::volume:
            return {unreachable_volume(rules, node)->claim};
        case NodeRefusal::none:
        case NodeRefusal::unschedulable:
        case NodeRefusal::unhealthy:
        case NodeRefusal::sliced_gpus:
            break;
    }
    return {};
}

}  // namespace

std::vector<fact::NodesRefusing> refusals_of(const ClusterState& state, PoolId pool,
                                             const PlacementRules& rules) {
    struct Alike {
        std::int64_t nodes = 0;
        const NodeFacts* first = nullptr;
    };
    std::map<NodeRefusal, Alike> by_refusal;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        const NodeFacts& facts = state.node(NodeId{slot}).facts;
        Alike& alike = by_refusal[first_refusal(rules, facts)];
        if (alike.nodes++ == 0 || facts.name < alike.first->name) alike.first = &facts;
    }
    std::vector<fact::NodesRefusing> out;
    for (const auto& [refusal, alike] : by_refusal) {
        out.push_back({.why = refusal,
                       .nodes = alike.nodes,
                       .names = names_of(refusal, rules, *alike.first),
                       .has_affinity = rules.required_affinity.has_value()});
    }
    return out;
}

}  // namespace gpuctl::explain_parts
