#pragma once
// The distribution of the run times of similar jobs, from ended and unfinished jobs: the
// product-limit estimator of Kaplan and Meier (1958). Without unfinished jobs, a pool that serves
// short work first would learn from short work only, because long work has not ended yet.

#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

class RunTimeCurve {
public:
    // `unfinished`: how long each has run so far. In any order; both are consumed.
    void read(std::vector<Duration>& ended, std::vector<Duration>& unfinished);

    // For a job that has run for `done`: the Gittins index as a time, i.e. the minimum over all
    // spans of the expected time spent within the span per job that ends in it (Gittins 1979). If
    // no job ran that long and ended: as long again as it has run.
    [[nodiscard]] Duration least_per_end(Duration done) const;

private:
    // The part of all runs, in units of 2^-24, that ends at this length, cumulative, and the same
    // times the length in ms.
    struct Step {
        Duration length;
        std::int64_t mass = 0;
        std::int64_t mass_time = 0;
    };
    std::vector<Step> steps_;  // by length
};

}  // namespace gpuctl
