#pragma once
// Published figures, or figures that independent replays computed from the same files. The replay
// world is valid if it meets the rows with a tolerance.

#include <optional>
#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

struct PublishedFigure {
    std::string metric;
    std::optional<double> value;  // for the engine's runs the best known value; none: not published
    double tolerance = 0;         // 0: for comparison only
    std::optional<double>
        wanted{};  // target of the engine: at most this; for an allocation ratio at least this
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
// The runs of the engine on the same files, with the configuration of each suite, the best
// published figures and our targets.
std::vector<PublishedRun> engine_runs();

}  // namespace gpuctl::replay
