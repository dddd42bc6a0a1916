// Which node a pod names: by its hostname as the DaemonSet controller does, or by a volume that is
// on one node only. The result only decides the pod's pool; the affinity rules are evaluated
// separately.

#include <vector>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

bool names_one(const SelectorRequirement& requirement) {
    return requirement.op == SelectorOperator::in && requirement.values.size() == 1;
}

// If there are several, the first one decides the pool; they may be in different pools, and any of
// them is valid.
bool names_some(const SelectorRequirement& requirement) {
    return requirement.op == SelectorOperator::in && !requirement.values.empty();
}

NodePin pin_of_term(const SelectorTerm& term) {
    for (const SelectorRequirement& field : term.fields) {
        if (names_one(field)) return {"", field.values.front()};  // metadata.name is the only one
    }
    for (const SelectorRequirement& label : term.labels) {
        if (label.key == kHostname && names_some(label)) return {label.key, label.values.front()};
    }
    return {};
}

// True when every term that can match names a node; if they name different nodes, the first decides
// the pool, and the engine uses another one when that node is gone
// (scheduler/state/nodes/pins.hpp).
NodePin pin_of_terms(const std::vector<SelectorTerm>& terms) {
    NodePin first;
    for (const SelectorTerm& term : terms) {
        if (term.broken || (term.labels.empty() && term.fields.empty())) continue;
        NodePin pin = pin_of_term(term);
        if (!pin.exists()) return {};
        if (!first.exists()) first = std::move(pin);
    }
    return first;
}

}  // namespace

NodePin pin_of(const PlacementRules& rules) {
    if (rules.required_affinity) {
        if (NodePin pin = pin_of_terms(*rules.required_affinity); pin.exists()) return pin;
    }
    for (const auto& [key, value] : rules.node_selector) {
        if (key == kHostname && !value.empty()) return {key, value};
    }
    for (const VolumeRule& volume : rules.volumes) {
        if (NodePin pin = pin_of_terms(volume.terms); pin.exists()) return pin;
    }
    return {};
}

}  // namespace gpuctl::k8s
