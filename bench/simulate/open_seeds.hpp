#pragma once
// Seeds whose violation is known and not mended yet, with what is known of it (docs/simulation.md
// has more). tools/test leaves them out, so that a new violation is not lost among old ones;
// whoever mends one takes it out here.

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gpuctl::bench {

inline constexpr std::uint64_t kOpenSeeds[] = {
    114,   // I14: after a restart two ranks of a gang keep room and only the third is asked again
    954,   // I5: in the Plan that claims room, a bind crosses what a queue keeps back
    1240,  // the same
    2360,  // with two tries a Plan the promise goes to and fro without end
    2384,  // I8: a job of a queue without priority goes first beside a claim
};

inline bool is_open(std::uint64_t seed) {
    return std::find(std::begin(kOpenSeeds), std::end(kOpenSeeds), seed) != std::end(kOpenSeeds);
}

}  // namespace gpuctl::bench
