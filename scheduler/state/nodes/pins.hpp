#pragma once
// The nodes that a pod names.

#include <vector>

#include "scheduler/model/pod.hpp"
#include "scheduler/state/nodes/outside.hpp"

namespace gpuctl {

// The node that decides its pool first (PodFacts::pin), then the other nodes that its required
// affinity names in the same way, each once, 16 at most. Empty: it names no node.
std::vector<NodePin> pins_of(const PodFacts& pod);
// The named node that the pod is on, else the first named node that exists; none(): none exists.
NodeId named_node(const ClusterState& state, const PodFacts& pod);

}  // namespace gpuctl
