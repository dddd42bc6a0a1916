#pragma once
// The table of quality.md with our figures beside the published ones.

#include <string>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::replay {

struct Comparison {
    std::string suite;
    std::string jobs;  // file, relative to the data folder
    std::string policy;
    std::string rule;  // "muri", "clairvoyant" or nothing
    std::string metric;
    double published = 0;
    double ours = 0;
    double tolerance = 0;  // acceptance: at most this far off; 0: for comparison only

    [[nodiscard]] bool is_missed() const;
};

// Runs everything; `data` is laid out as openb/, philly64/, kth_sp2/, elastic64/, fairness32/ and
// philly_vc/.
Result<std::vector<Comparison>> compare_all(const std::string& data);

std::string as_table(const std::vector<Comparison>& rows);  // Markdown
std::string as_json(const std::vector<Comparison>& rows);

}  // namespace gpuctl::replay
