#pragma once
// Seeds with a known violation that is not fixed yet (docs/simulation.md). tools/test skips them,
// so that a new violation is not lost among old ones. A fix removes its seeds here.

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuctl::bench {

inline constexpr std::array<std::uint64_t, 0> kOpenSeeds{};

inline bool is_known_open(std::uint64_t seed) {
    return std::find(kOpenSeeds.begin(), kOpenSeeds.end(), seed) != kOpenSeeds.end();
}

}  // namespace gpuctl::bench
