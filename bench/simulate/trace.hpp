#pragma once
// Prints a simulated run: a line for every input and every effect.

#include <cstdint>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

void trace_seed(std::uint64_t seed, int actions, sim::WorldKind kind);

}  // namespace gpuctl::bench
