#pragma once
// On how many nodes of how many GPUs a suite of jobs is replayed: quality.md's set-ups unless the
// request says otherwise, as GPUs altogether or as nodes and GPUs of each.

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

inline constexpr std::int64_t kClusterGpusMax = 1'000'000;

// Not for openb, whose nodes come from a file. An error: what the request says contradicts itself
// or leaves the size open.
Result<WorldSettings> settings_for(const SuiteRequest& request);

}  // namespace gpuctl::replay
