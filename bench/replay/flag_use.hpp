#pragma once
// Which flags each suite uses, so that unused ones are reported.

#include <string>
#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

// The flags among these ("--seed", ...) that the suite does not use; without a suite: that `all`
// does not use.
std::vector<std::string> unused_flags(const std::vector<std::string>& given,
                                      std::optional<Suite> suite);

}  // namespace gpuctl::replay
