#pragma once
// All that is known to be left to do in each pool: GPU time of the jobs whose users said how long
// they take, and when the last of them could end at the soonest. Kept job by job, so that asking
// costs the same for ten jobs and for a hundred thousand (docs/adr/0018).
//
// Rebuilt from the rows, never part of the image. Owner: ClusterState.

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

class PoolWork {
public:
    struct Part {
        PoolId pool;
        GpuMilli gpus;
        Duration left;    // of one that waits
        Instant ends;     // of one that runs; never: it waits
        Instant soonest;  // that it could have ended, had it begun when it came
        friend bool operator==(const Part&, const Part&) = default;
    };
    // The pool in which there is more or less to do now than was known; a start is no news.
    PoolId set_part(JobId job, const Part& part);
    PoolId forget(JobId job);
    void clear();
    // From here on nothing is expected of those that should have ended.
    void advance(Instant now);

    // How long the pool is busy at least, from `now` = the last advance() on.
    [[nodiscard]] Duration rest(PoolId pool, Instant now, GpuMilli offered) const;

private:
    struct Kept {
        Part part;
        bool is_known = false;
        bool is_over = false;  // later than it should be: counts for nothing
    };
    struct Sums {
        std::int64_t waiting = 0;  // GPU thousandths x seconds
        std::int64_t held = 0;     // GPU thousandths that run
        std::int64_t ends = 0;     // ... x the second of their end
        std::set<std::pair<Instant, JobId>> soonest;
    };
    void count(const Part& part, std::int64_t sign);

    std::vector<Kept> jobs_;  // by JobId
    std::vector<Sums> pools_;
    std::set<std::pair<Instant, JobId>> ends_;
};

}  // namespace gpuctl
