#pragma once
// The table of published figures with ours beside them.

#include <optional>
#include <string>
#include <vector>

namespace gpuctl::replay {

struct Comparison {
    std::string suite;
    std::string jobs;  // file, relative to the data folder
    std::string policy;
    std::string rule;  // "muri", "clairvoyant" or nothing
    std::string metric;
    std::optional<double> published;
    double ours = 0;
    double tolerance = 0;          // acceptance: at most this far off; 0: for comparison only
    std::optional<double> wanted;  // of the engine

    // The world is not the one of the papers.
    [[nodiscard]] bool is_missed() const;
    [[nodiscard]] bool is_reached() const;  // what is wanted
};

struct Comparisons {
    std::vector<Comparison> rows;
    std::vector<std::string> failed;  // a sentence for each input that could not be run
};
// Runs everything; `data` is laid out as openb/, philly64/, kth_sp2/, elastic64/, fairness32/ and
// philly_vc/. What cannot be run does not keep the rest from it.
Comparisons compare_all(const std::string& data);

std::string as_table(const std::vector<Comparison>& rows);  // Markdown
std::string as_json(const std::vector<Comparison>& rows);

}  // namespace gpuctl::replay
