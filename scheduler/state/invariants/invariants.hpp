#pragma once
// What must hold after every step (docs/invariants.md). Recomputes everything from the rows, so it
// is for tests, simulation and `gpuctl admin verify`, not for the daemon's loop.

#include <string>
#include <vector>

namespace gpuctl {

class ClusterState;

struct Violation {
    std::string id;  // I1 ... I5, as in docs/invariants.md
    std::string what;
};

std::vector<Violation> verify(const ClusterState& state);
// Parts of it: invariants_evictions.cpp, invariants_budgets.cpp, invariants_demand.cpp,
// invariants_finished.cpp.
void verify_evictions(const ClusterState& state, std::vector<Violation>& found);
void verify_budgets(const ClusterState& state, std::vector<Violation>& found);
void verify_demand(const ClusterState& state, std::vector<Violation>& found);
void verify_finished(const ClusterState& state, std::vector<Violation>& found);

}  // namespace gpuctl
