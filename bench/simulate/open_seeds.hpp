#pragma once
// Seeds whose violation is known and not mended yet, with what is known of it (docs/simulation.md
// has more). tools/test leaves them out, so that a new violation is not lost among old ones;
// whoever mends one takes it out here.

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuctl::bench {

inline constexpr std::array<std::uint64_t, 0> kOpenSeeds{};

inline bool is_open(std::uint64_t seed) {
    return std::find(kOpenSeeds.begin(), kOpenSeeds.end(), seed) != kOpenSeeds.end();
}

}  // namespace gpuctl::bench
