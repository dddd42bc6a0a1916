#pragma once
// The cluster size of a suite: that of the published set-up unless the request gives another, as
// total GPUs or as nodes and GPUs per node.

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

inline constexpr std::int64_t kClusterGpusMax = 1'000'000;

// Not for openb, whose nodes come from a file. An error: what the request says contradicts itself
// or leaves the size open.
Result<WorldSettings> settings_for(const SuiteRequest& request);

}  // namespace gpuctl::replay
