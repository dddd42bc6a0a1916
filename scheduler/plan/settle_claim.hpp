#pragma once
// What becomes of room that others are being stopped for: used as soon as it is free and allowed,
// given up when it is worth nothing any more (ADR 0013).

#include "scheduler/model/effect_list.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void settle_claim(ClusterState& state, JobId job, EffectList& effects);

}  // namespace gpuctl
