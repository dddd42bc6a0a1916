#pragma once
// The table of published figures next to ours.

#include <optional>
#include <string>
#include <vector>

namespace gpuctl::replay {

struct Comparison {
    std::string suite;
    std::string jobs;  // file, relative to the data folder
    std::string policy;
    std::string rule;  // "muri", "clairvoyant" or empty
    std::string metric;
    std::optional<double> published;
    double ours = 0;
    double tolerance = 0;          // acceptance: the largest difference; 0: for comparison only
    std::optional<double> wanted;  // target of the engine

    // True if the replay world differs from the published one.
    [[nodiscard]] bool is_missed() const;
    [[nodiscard]] bool is_reached() const;  // the target
};

struct Comparisons {
    std::vector<Comparison> rows;
    std::vector<std::string> failed;  // a sentence for each input that could not be replayed
};
// Replays everything. `data` has the folders openb/, philly64/, kth_sp2/, elastic64/, fairness32/
// and philly_vc/. An input that cannot be replayed does not prevent the others.
Comparisons compare_all(const std::string& data);

std::string as_table(const std::vector<Comparison>& rows);  // Markdown
std::string as_json(const std::vector<Comparison>& rows);

}  // namespace gpuctl::replay
