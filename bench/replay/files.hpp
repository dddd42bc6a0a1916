#pragma once
// The only part of a replay that opens files.

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

struct InputPaths {
    std::string jobs, nodes, quotas, epochs;  // empty: not needed
};

Result<SuiteInput> read_input(const InputPaths& paths);

}  // namespace gpuctl::replay
