#pragma once
// A life to read: a line for every input and for every effect that asks something of the world.

#include <cstdint>

namespace gpuctl::bench {

void trace_seed(std::uint64_t seed, int moments);

}  // namespace gpuctl::bench
