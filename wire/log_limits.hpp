#pragma once
// Limits of log requests: the server refuses more, the command line reports it before sending.

#include <cstdint>

namespace gpuctl::wire {

inline constexpr std::int64_t kLogTailMax = 10'000;

}  // namespace gpuctl::wire
