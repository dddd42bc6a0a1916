#pragma once
// Products of 64-bit amounts.

#include <cstdint>

namespace gpuctl {

__extension__ typedef __int128 Wide;  // as a `using`, g++ warns that ISO C++ has none

// value * times / over, where that product may not fit in 64 bits.
constexpr std::int64_t times_ratio(std::int64_t value, std::int64_t times, std::int64_t over) {
    return value / over * times + value % over * times / over;
}

}  // namespace gpuctl
