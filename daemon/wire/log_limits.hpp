#pragma once
// What a reader of a log may ask for: the server refuses more, the command line says so at once.

#include <cstdint>

namespace gpuctl::wire {

inline constexpr std::int64_t kLogTailMax = 10'000;

}  // namespace gpuctl::wire
