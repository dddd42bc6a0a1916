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
    // `unfinished` has the time for which each of these jobs has run so far. Both may be in any
    // order and are consumed.
    void read(std::vector<Duration>& ended, std::vector<Duration>& unfinished);

    // The Gittins index of a job that has run for `done`, as a time: the minimum over all spans of
    // the expected time spent within the span per job that ends in it (Gittins 1979). If no known
    // job ran longer, the job is assumed to run as long again as it has run.
    [[nodiscard]] Duration least_per_end(Duration done) const;

private:
    // The part of all runs that ends at this length, in units of 2^-24, cumulative, and the sum of
    // these parts times the length in ms.
    struct Step {
        Duration length;
        std::int64_t mass = 0;
        std::int64_t mass_time = 0;
    };
    std::vector<Step> steps_;  // by length
};

}  // namespace gpuctl
