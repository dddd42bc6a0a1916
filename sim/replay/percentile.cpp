#include "sim/replay/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpuctl::replay {

double percentile(std::vector<double> values, double percent) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const double rank = std::floor(static_cast<double>(values.size()) * percent / 100.0);
    return values[std::min(static_cast<std::size_t>(rank), values.size() - 1)];
}

}  // namespace gpuctl::replay
