#pragma once
// Why a bound pod was asked to go, and what is still to be counted of it. Kept until it goes or
// stays: budgets, figures and histories count evictions that happened, none that was only asked for
// (churn.cpp).

#include <array>
#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/explanation/cause.hpp"

namespace gpuctl {

enum class EvictionCause : std::uint8_t { reclaimed, preempted, shrunk, stranded, drained };
BOOST_DESCRIBE_ENUM(EvictionCause, reclaimed, preempted, shrunk, stranded, drained)

// The run of a job up to some time: what of it is kept when it is stopped then.
struct RunSoFar {
    Instant began;  // never: it does not run as a whole
    Duration kept;  // up to its last checkpoint
    // They identify it among other runs (FinishedRun).
    GpuMilli gpus;
    Duration limit;
};
BOOST_DESCRIBE_STRUCT(RunSoFar, (), (began, kept, gpus, limit))

struct EvictionRequest {
    EvictionCause cause = EvictionCause::preempted;
    CauseBox why;
    bool is_uncharged = false;  // the budget of its job is charged when it goes
    bool goes_along = false;    // a rank whose gang was charged for all that were asked together
    RunSoFar run;               // of its job, when it was asked
};
BOOST_DESCRIBE_STRUCT(EvictionRequest, (), (cause, why, is_uncharged, goes_along, run))

// What became of decisions, counted when it is known. Figures since construction, no part of the
// image.
struct OutcomeFigures {
    std::array<std::uint64_t, 5> pods_evicted{};  // by EvictionCause; of `shrunk`, ranks
    std::int64_t lost_gpu_ms = 0;                 // work of theirs that has to be done again
    std::uint64_t gang_rollbacks = 0;
    [[nodiscard]] std::uint64_t evicted(EvictionCause cause) const {
        return pods_evicted[static_cast<std::size_t>(cause)];
    }
    void add(EvictionCause cause, std::uint64_t pods) {
        pods_evicted[static_cast<std::size_t>(cause)] += pods;
    }
};

}  // namespace gpuctl
