#pragma once
// May a pod with these rules use this node at all, room aside? One idea per file; the order is
// kube-scheduler's, so that the first refusal is the one its users expect (S9).

#include <cstdint>
#include <string>

#include "scheduler/model/node.hpp"
#include "scheduler/model/placement.hpp"

namespace gpuctl {

enum class NodeRefusal : std::uint8_t {
    none,
    unschedulable,
    unhealthy,
    taint,
    selector,
    gpu_model,
    sliced_gpus,
    topology,
    volume
};

// cordon_filter.cpp: spec.unschedulable, unless its taint is tolerated (S23).
bool passes_cordon(const PlacementRules& rules, const NodeFacts& node);
// taint_filter.cpp: NoSchedule and NoExecute must be tolerated (S24). Null: all are.
const Taint* untolerated_taint(const PlacementRules& rules, const NodeFacts& node);
bool tolerates(const Toleration& toleration, const Taint& taint);
// selector_filter.cpp: nodeSelector and required node affinity (S25).
bool matches_selector(const PlacementRules& rules, const NodeFacts& node);
bool matches_term(const SelectorTerm& term, const NodeFacts& node);
// gpu_model_filter.cpp: one of the models asked for, without case; and no slice that its node calls
// a GPU for who asks for whole ones.
bool matches_gpu_model(const PlacementRules& rules, const NodeFacts& node);
bool has_whole_gpus(const PlacementRules& rules, const NodeFacts& node);

// topology_filter.cpp: a node of which nobody says where it stands is in no rack.
bool has_domains(const PlacementRules& rules, const NodeFacts& node);

// volume_filter.cpp: a volume that is there only for some nodes (S29). Null: it reaches all.
const VolumeRule* unreachable_volume(const PlacementRules& rules, const NodeFacts& node);

NodeRefusal first_refusal(const PlacementRules& rules, const NodeFacts& node);
// kube-scheduler's words for it.
std::string refusal_message(NodeRefusal refusal, const PlacementRules& rules,
                            const NodeFacts& node);

}  // namespace gpuctl
