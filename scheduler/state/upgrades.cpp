#include "scheduler/state/upgrades.hpp"

namespace gpuctl {

// No version so far has renamed a member or given one another meaning.
void upgrade(Input&, std::uint64_t) {}
void upgrade(StateImage&, std::uint64_t) {}

}  // namespace gpuctl
