#pragma once
// What was published, or computed from the same files by others, and by which naive policy; the
// world of the replays is right when it meets the rows that have a tolerance.

#include <vector>

#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

struct PublishedFigure {
    std::string metric;
    double value = 0;
    double tolerance = 0;  // 0: for comparison only
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

}  // namespace gpuctl::replay
