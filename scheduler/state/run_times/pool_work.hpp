#pragma once
// The known remaining work of each pool: GPU time of the jobs with a stated run time, and the
// earliest time by which the last of them could end. Updated job by job, so that reading it costs
// the same for ten jobs and for a hundred thousand (docs/adr/0018).
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
        Duration left;    // of a waiting job
        Instant ends;     // of a running job; never: it waits
        Instant soonest;  // when it would have ended, had it begun when it was submitted
        friend bool operator==(const Part&, const Part&) = default;
    };
    // Returns the pool whose remaining work has changed; none: no change, or only a start of the
    // job.
    PoolId set_part(JobId job, const Part& part);
    PoolId forget(JobId job);
    void clear();
    // Jobs that should have ended by now no longer count.
    void advance(Instant now);

    // The least time that the pool stays busy, from `now` = the last advance().
    [[nodiscard]] Duration rest(PoolId pool, Instant now, GpuMilli offered) const;

private:
    struct Kept {
        Part part;
        bool is_known = false;
        bool is_over = false;  // it should have ended: it no longer counts
    };
    struct Sums {
        std::int64_t waiting = 0;  // GPU thousandths x seconds
        std::int64_t held = 0;     // thousandths of running GPUs
        std::int64_t ends = 0;     // the same times the second of their end
        std::set<std::pair<Instant, JobId>> soonest;
    };
    void count(const Part& part, std::int64_t sign);

    std::vector<Kept> jobs_;  // by JobId
    std::vector<Sums> pools_;
    std::set<std::pair<Instant, JobId>> ends_;
};

}  // namespace gpuctl
