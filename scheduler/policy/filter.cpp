#include "scheduler/policy/filter.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

NodeRefusal first_refusal(const PlacementRules& rules, const NodeFacts& node) {
    if (!passes_cordon(rules, node)) return NodeRefusal::unschedulable;
    if (!node.unhealthy.empty() && !has_fault(SeededFault::ignore_health)) {
        return NodeRefusal::unhealthy;
    }
    if (untolerated_taint(rules, node) != nullptr) return NodeRefusal::taint;
    if (!matches_selector(rules, node)) return NodeRefusal::selector;
    if (!matches_gpu_model(rules, node)) return NodeRefusal::gpu_model;
    if (!has_whole_gpus(rules, node)) return NodeRefusal::sliced_gpus;
    if (!has_domains(rules, node)) return NodeRefusal::topology;
    if (unreachable_volume(rules, node) != nullptr) return NodeRefusal::volume;
    return NodeRefusal::none;
}

std::string refusal_message(NodeRefusal refusal, const PlacementRules& rules,
                            const NodeFacts& node) {
    switch (refusal) {
        case NodeRefusal::none:
            return "";
        case NodeRefusal::unschedulable:
            return "node(s) were unschedulable";
        case NodeRefusal::unhealthy:
            return "node(s) were unhealthy";
        case NodeRefusal::taint: {
            const Taint* taint = untolerated_taint(rules, node);
            return "node(s) had untolerated taint {" + taint->key + ": " + taint->value + "}";
        }
        case NodeRefusal::selector:
        case NodeRefusal::gpu_model:
            return "node(s) didn't match Pod's node affinity/selector";
        case NodeRefusal::sliced_gpus:
            return "node(s) had MIG slices where whole GPUs were asked for";
        case NodeRefusal::topology:
            return "node(s) didn't match pod topology spread constraints (missing required "
                   "label)";
        case NodeRefusal::volume:
            return "node(s) didn't match PersistentVolume's node affinity";
    }
    return "";
}

}  // namespace gpuctl
