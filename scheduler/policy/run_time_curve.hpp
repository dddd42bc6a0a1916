#pragma once
// How long jobs alike last, from those that ended and from those that have not yet: the product
// limit of Kaplan and Meier (1958). Without the unfinished ones a pool that lets short work go
// first would learn from short work only: what is long is still there.

#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

class RunTimeCurve {
public:
    // `unfinished`: how long each has run without an end. In no order; both are consumed.
    void read(std::vector<Duration>& ended, std::vector<Duration>& unfinished);

    // Of one that has run for `done`: what must be done to see one more of its kind end, at the
    // best moment to stop looking (Gittins' index): the least, over all spans, of the time spent
    // within it on each for one that ends. Where nobody ran so long and ended, as long again as it
    // did.
    [[nodiscard]] Duration least_per_end(Duration done) const;

private:
    // Part of all runs, in 2^-24ths, that ends at this length, summed up to here, and the same
    // times the length in ms.
    struct Step {
        Duration length;
        std::int64_t mass = 0;
        std::int64_t mass_time = 0;
    };
    std::vector<Step> steps_;  // by length
};

}  // namespace gpuctl
