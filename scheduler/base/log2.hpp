#pragma once
// Logarithms for comparing magnitudes, in integers.

#include <bit>
#include <cstdint>

namespace gpuctl {

inline constexpr std::int64_t kLog2One = 65'536;

// log2 in units of 1/65536, rounded down. The logarithm of 0 is taken as that of 1.
constexpr std::int64_t log2_fixed(std::uint64_t value) {
    if (value <= 1) return 0;
    const int whole = static_cast<int>(std::bit_width(value)) - 1;
    // The fraction is computed bit by bit: squaring the mantissa doubles its logarithm.
    std::uint64_t mantissa = whole >= 31 ? value >> (whole - 31) : value << (31 - whole);
    std::int64_t result = whole;
    for (int bit = 0; bit < 16; ++bit) {
        mantissa = (mantissa * mantissa) >> 31U;
        const bool carries = (mantissa >> 32U) != 0;
        if (carries) mantissa >>= 1U;
        result = result * 2 + (carries ? 1 : 0);
    }
    return result;
}

}  // namespace gpuctl
