#pragma once
// What was published, or computed from the same files by others, and by which naive policy; the
// world of the replays is right when it meets the rows that have a tolerance.

#include <optional>
#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

struct PublishedFigure {
    std::string metric;
    std::optional<double> value;  // of the engine's runs the best there is; none: nobody tells one
    double tolerance = 0;         // 0: for comparison only
    std::optional<double> wanted{};  // of the engine: no more than that, of an allocation no less
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
// The engine on the same files, by the configuration of each suite, beside the best that was
// published and what we want of it.
std::vector<PublishedRun> engine_runs();

}  // namespace gpuctl::replay
