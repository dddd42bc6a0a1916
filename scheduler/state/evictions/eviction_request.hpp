#pragma once
// Why a bound pod is evicted, and what is still to be counted for it. Kept until the pod goes or
// stays: budgets, figures and histories count evictions that happened, not those that were only
// requested (churn.cpp).

#include <array>
#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/explanation/cause.hpp"

namespace gpuctl {

enum class EvictionCause : std::uint8_t { reclaimed, preempted, shrunk, stranded, drained };
BOOST_DESCRIBE_ENUM(EvictionCause, reclaimed, preempted, shrunk, stranded, drained)

// The run of a job up to a time, and the work that is kept if it is evicted then.
struct RunSoFar {
    Instant began;  // never: not all of its ranks run
    Duration kept;  // up to its last checkpoint
    // These identify the run among other runs (FinishedRun).
    GpuMilli gpus;
    Duration limit;
};
BOOST_DESCRIBE_STRUCT(RunSoFar, (), (began, kept, gpus, limit))

struct EvictionRequest {
    EvictionCause cause = EvictionCause::preempted;
    CauseBox why;
    bool is_uncharged = false;  // the eviction budget of its job is charged when it goes
    // a rank of a gang that was charged once for all ranks requested together
    bool goes_along = false;
    RunSoFar run;  // the run of its job at the time of the request
};
BOOST_DESCRIBE_STRUCT(EvictionRequest, (), (cause, why, is_uncharged, goes_along, run))

// Outcomes of decisions, counted when they are known. Figures since construction, no part of the
// image.
struct OutcomeFigures {
    std::array<std::uint64_t, 5> pods_evicted{};  // by EvictionCause; of `shrunk`, ranks
    std::int64_t lost_gpu_ms = 0;                 // work of evicted pods that has to be repeated
    std::uint64_t gang_rollbacks = 0;
    [[nodiscard]] std::uint64_t evicted(EvictionCause cause) const {
        return pods_evicted[static_cast<std::size_t>(cause)];
    }
    void add(EvictionCause cause, std::uint64_t pods) {
        pods_evicted[static_cast<std::size_t>(cause)] += pods;
    }
};

}  // namespace gpuctl
