#pragma once
// Which flags mean something for which suite, so that none is left aside without a word.

#include <string>
#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

// Of these flags ("--seed", ...) those that the suite has no use for; without a suite: `all`.
std::vector<std::string> unused_flags(const std::vector<std::string>& given,
                                      std::optional<Suite> suite);

}  // namespace gpuctl::replay
