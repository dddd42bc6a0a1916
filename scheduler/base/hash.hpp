#pragma once
// A 64-bit fingerprint of bytes for state hashes and interning: FNV-1a with the final mix of
// MurmurHash3. It is no defence against an adversary; tables keyed by outside data compare in full.

#include <cstdint>
#include <string_view>

namespace gpuctl {

constexpr std::uint64_t mix64(std::uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

constexpr std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325ULL) {
    std::uint64_t h = seed;
    for (const char c : bytes) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
    return mix64(h);
}

}  // namespace gpuctl
