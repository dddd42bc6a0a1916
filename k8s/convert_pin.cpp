// Which node a pod names: as the DaemonSet controller does, by its hostname, or by a volume that is
// on one node only. It says which pool the pod is for, no more: its rules are looked at as they
// are.

#include <vector>

#include "k8s/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

bool names_one(const SelectorRequirement& requirement) {
    return requirement.op == SelectorOperator::in && requirement.values.size() == 1;
}

// Of several the first says the pool: where they are in several pools, one of them is as good.
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

// All terms that can match anything name a node; where not the same, the first says the pool and
// the engine looks for the others when it is gone (scheduler/state/pins.hpp).
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
