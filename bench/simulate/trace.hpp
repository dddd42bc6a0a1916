#pragma once
// Prints a simulated run: a line for every input and every effect.

#include <cstdint>

namespace gpuctl::bench {

void trace_seed(std::uint64_t seed, int actions);

}  // namespace gpuctl::bench
