#pragma once
// May a pod with these rules use this node at all, independent of room? There is one filter per
// file. Their order is that of kube-scheduler, so that the first refusal is the one that its users
// expect.

#include <string>

#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/node_refusal.hpp"

namespace gpuctl {

// cordon_filter.cpp: refuses spec.unschedulable, unless its taint is tolerated.
bool passes_cordon(const PlacementRules& rules, const NodeFacts& node);
// taint_filter.cpp: the first NoSchedule or NoExecute taint that is not tolerated; null: there is
// none.
const Taint* untolerated_taint(const PlacementRules& rules, const NodeFacts& node);
bool tolerates(const Toleration& toleration, const Taint& taint);
// selector_filter.cpp: checks nodeSelector and required node affinity.
bool matches_selector(const PlacementRules& rules, const NodeFacts& node);
bool matches_term(const SelectorTerm& term, const NodeFacts& node);
// gpu_model_filter.cpp: accepts the requested models, compared without case. If whole GPUs are
// requested, refuses nodes that offer slices as GPUs.
bool matches_gpu_model(const PlacementRules& rules, const NodeFacts& node);
bool has_whole_gpus(const PlacementRules& rules, const NodeFacts& node);

// topology_filter.cpp: a node with an unknown location is in no rack.
bool has_domains(const PlacementRules& rules, const NodeFacts& node);

// volume_filter.cpp: the first volume that pods on this node cannot access; null: there is none.
const VolumeRule* unreachable_volume(const PlacementRules& rules, const NodeFacts& node);

NodeRefusal first_refusal(const PlacementRules& rules, const NodeFacts& node);
// The message of kube-scheduler for the refusal.
std::string refusal_message(NodeRefusal refusal, const PlacementRules& rules,
                            const NodeFacts& node);

}  // namespace gpuctl
