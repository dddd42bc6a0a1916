#pragma once
// Published figures, or those computed from the same files by independent replays. The replay world
// is valid when it meets the rows with a tolerance.

#include <optional>
#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

struct PublishedFigure {
    std::string metric;
    std::optional<double> value;  // for the engine's runs the best known; none: not published
    double tolerance = 0;         // 0: for comparison only
    std::optional<double>
        wanted{};  // target for the engine: at most this; for an allocation ratio at least
};

struct PublishedRun {
    Suite suite{};
    std::string jobs;
    std::string policy;
    bool clairvoyant = false;
    Overhead overhead = Overhead::clean;
    std::vector<PublishedFigure> figures;
};

std::vector<PublishedRun> published_runs();
// The engine on the same files with each suite's configuration, beside the best published figures
// and our targets.
std::vector<PublishedRun> engine_runs();

}  // namespace gpuctl::replay
