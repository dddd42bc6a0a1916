#pragma once
// Random numbers that depend on names only: the same (seed, subject, purpose) gives the same
// stream, whatever was drawn before. So a restarted cluster continues as if it had not been
// restarted.

#include <string_view>

#include "scheduler/base/hash.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::sim {

inline Rng draw(std::uint64_t seed, std::string_view subject, std::string_view purpose) {
    return Rng{hash64(purpose, hash64(subject, mix64(seed + 0x9e3779b97f4a7c15ULL)))};
}

// From half of `median` to twice `median`; both halves of the range are equally likely.
inline Duration around(Rng& rng, Duration median) {
    const std::int64_t m = median.ms();
    if (m <= 0) return Duration{0};
    return rng.chance(1, 2) ? Duration{rng.between(m / 2, m)} : Duration{rng.between(m, 2 * m)};
}

}  // namespace gpuctl::sim
