#pragma once
// I26, a part of verify() (invariants.hpp).

#include <vector>

#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl {

void verify_seats(const ClusterState& state, std::vector<Violation>& found);

}  // namespace gpuctl
