#pragma once
// The nodes that a pod names.

#include <vector>

#include "scheduler/model/pod.hpp"
#include "scheduler/state/nodes/outside.hpp"

namespace gpuctl {

// The one that says its pool first (PodFacts::pin), then the others that its required affinity
// names in the same way, each once, 16 at most. Empty: it names none.
std::vector<NodePin> pins_of(const PodFacts& pod);
// The one it is on, else the first of them that is there; none() when none is.
NodeId named_node(const ClusterState& state, const PodFacts& pod);

}  // namespace gpuctl
