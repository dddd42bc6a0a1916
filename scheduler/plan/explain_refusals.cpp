// Why no node of a pool takes a pod at all, whatever room it has: who looks after the nodes, or
// wrote the selector, is told which of the two it is.

#include <map>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

std::string models_text(const PlacementRules& rules) {
    std::string text;
    for (const std::string& model : gpu_models(rules)) text += (text.empty() ? "" : " or ") + model;
    return text;
}

std::string selector_text(const PlacementRules& rules) {
    std::string text;
    for (const auto& [key, value] : rules.node_selector) {
        text += (text.empty() ? "" : ", ") + key + "=" + value;
    }
    if (rules.required_affinity) text += text.empty() ? "its affinity" : " and its affinity";
    return text;
}

std::string words_of(NodeRefusal refusal, const PlacementRules& rules, const NodeFacts& node,
                     bool is_one) {
    switch (refusal) {
        case NodeRefusal::none:
            return is_one ? "is closed for maintenance" : "are closed for maintenance";
        case NodeRefusal::unschedulable:
            return is_one ? "is cordoned" : "are cordoned";
        case NodeRefusal::unhealthy:
            return is_one ? "is unhealthy" : "are unhealthy";
        case NodeRefusal::taint: {
            const Taint* taint = untolerated_taint(rules, node);
            return std::string{is_one ? "has" : "have"} + " the taint " + taint->key +
                   (taint->value.empty() ? "" : "=" + taint->value) +
                   ", which it does not tolerate";
        }
        case NodeRefusal::selector:
            return std::string{is_one ? "does" : "do"} + " not match " + selector_text(rules);
        case NodeRefusal::gpu_model:
            return std::string{is_one ? "is" : "are"} + " of another GPU model than " +
                   models_text(rules);
        case NodeRefusal::sliced_gpus:
            return std::string{is_one ? "has" : "have"} + " slices instead of whole GPUs";
        case NodeRefusal::topology:
            return std::string{is_one ? "has" : "have"} + " no label that says in which " +
                   std::string{to_string(rules.topology.required != TopologyLevel::none
                                             ? rules.topology.required
                                             : rules.topology.spread)} +
                   (is_one ? " it stands" : " they stand");
        case NodeRefusal::volume:
            return std::string{is_one ? "is" : "are"} + " out of reach of the volume of claim " +
                   unreachable_volume(rules, node)->claim;
    }
    return "";
}

}  // namespace

std::string refusals_of(const ClusterState& state, PoolId pool, const PlacementRules& rules) {
    struct Alike {
        std::int64_t nodes = 0;
        const NodeFacts* first = nullptr;
    };
    std::map<NodeRefusal, Alike> by_refusal;
    const NodeSet& nodes = state.capacity().nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        const NodeFacts& facts = state.node(NodeId{slot}).facts;
        Alike& alike = by_refusal[first_refusal(rules, facts)];
        if (alike.nodes++ == 0 || facts.name < alike.first->name) alike.first = &facts;
    }
    std::string text;
    for (const auto& [refusal, alike] : by_refusal) {
        text += (text.empty() ? "" : ", ") + std::to_string(alike.nodes) + " " +
                words_of(refusal, rules, *alike.first, alike.nodes == 1);
    }
    return text;
}

}  // namespace gpuctl::explain_parts
