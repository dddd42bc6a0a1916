#pragma once
// Seeded random numbers that are equal on every compiler and library (the distributions of std are
// not). Generator: xoshiro256** by Blackman and Vigna, seeded by splitmix64 (prng.di.unimi.it).

#include <array>
#include <bit>
#include <cstdint>

#include "scheduler/base/check.hpp"

namespace gpuctl {

class Rng {
public:
    explicit constexpr Rng(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15ULL;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            word = z ^ (z >> 31);
        }
    }

    constexpr std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Uniform in [0, bound); bound > 0. Rejection sampling avoids modulo bias.
    constexpr std::uint64_t below(std::uint64_t bound) {
        GPUCTL_CHECK(bound > 0, "below() needs a positive bound");
        const std::uint64_t threshold = (0 - bound) % bound;
        for (;;) {
            if (const std::uint64_t value = next(); value >= threshold) return value % bound;
        }
    }

    // Uniform in [low, high], both included.
    constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
        GPUCTL_CHECK(low <= high, "between() needs low <= high");
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
    }

    constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) {
        return below(denominator) < numerator;
    }

private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace gpuctl
