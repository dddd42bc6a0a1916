#pragma once
// How often a job was evicted, and what it had completed then. It outlives the pods of the job,
// whose successors may be created later (churn.cpp).

#include <boost/describe.hpp>
#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// The place of an evicted pod that is no rank of a gang. The next pod that its controller creates
// takes this place, and its evictions count for the new pod.
struct Vacancy {
    // its index, if its controller sets one; then only a pod with this index takes the place
    std::int32_t rank = -1;
    std::vector<Instant> evicted_at;  // in the hour before the last eviction
    friend bool operator==(const Vacancy&, const Vacancy&) = default;
};
BOOST_DESCRIBE_STRUCT(Vacancy, (), (rank, evicted_at))

struct Churn {
    // Of a gang: its evictions in the hour before the last one, each an eviction of all its ranks.
    // Of another job: only the last one, because each pod has its own list
    // (EvictionRow::evicted_at). Never empty.
    std::vector<Instant> evicted_at;
    CauseBox why;  // why it was evicted; absent: not since it last started
    // Completed work that is kept: before the run that was evicted last, and with that run.
    Instant run_began;
    Duration done_before;
    Duration done;
    // These identify the run, which has not ended, among other runs (FinishedRun).
    GpuMilli gpus;
    Duration limit;
    std::vector<Vacancy> vacancies;  // oldest first

    // The job was evicted in this run. A second eviction in the same run, because the job stayed
    // the first time, does not change the work that was completed before the run.
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
