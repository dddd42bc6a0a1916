#pragma once
// The cluster size of a suite: that of the published set-up unless the request gives another, as
// total GPUs or as nodes and GPUs per node.

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

inline constexpr std::int64_t kClusterGpusMax = 1'000'000;

// The settings of a suite other than openb, whose nodes come from a file. An error if the request
// contradicts itself or does not determine the size.
Result<WorldSettings> settings_for(const SuiteRequest& request);

}  // namespace gpuctl::replay
