#pragma once
// How often a job was moved out of the way of others, and what it had done when it was: outlives
// its pods, whose successors may come later (churn.cpp).

#include <boost/describe.hpp>
#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// The place of a pod that was evicted and is no rank of a gang. The next pod that the controller of
// its job makes has this place: it counts as moved as often as the pods before it.
struct Vacancy {
    std::int32_t rank = -1;  // its index, where its controller gives one; then only that pod fits
    std::vector<Instant> evicted_at;  // in the hour before the last of them
    friend bool operator==(const Vacancy&, const Vacancy&) = default;
};
BOOST_DESCRIBE_STRUCT(Vacancy, (), (rank, evicted_at))

struct Churn {
    // Of a gang: in the hour before the last of them, each one move of all its ranks. Of another
    // job the last, as each pod has its own (PodRow::evicted_at). Never empty.
    std::vector<Instant> evicted_at;
    CauseBox why;  // since it last started; absent: it was not moved since
    // What it had done and kept, before the run that was stopped last and with it.
    Instant run_began;
    Duration done_before;
    Duration done;
    // They identify the run, which has not ended, among others (FinishedRun).
    GpuMilli gpus;
    Duration limit;
    std::vector<Vacancy> vacancies;  // oldest first

    // It was stopped in this run. Once more in the same run, because it stayed the first time:
    // what it did before that run is the same.
    void add_run(const RunSoFar& run) {
        if (!run.began.happened()) return;
        if (run_began != run.began) {
            done_before = done;
            run_began = run.began;
        }
        done = done_before + run.kept;
        gpus = run.gpus;
        limit = run.limit;
    }
};
BOOST_DESCRIBE_STRUCT(Churn, (),
                      (evicted_at, why, run_began, done_before, done, gpus, limit, vacancies))

}  // namespace gpuctl
