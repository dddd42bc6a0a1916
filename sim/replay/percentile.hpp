#pragma once

#include <vector>

namespace gpuctl::replay {

// The value at position floor(n * percent / 100) of the sorted values, counted from 0, as in Muri's
// simulator.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

}  // namespace gpuctl::replay
