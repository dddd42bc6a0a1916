#pragma once
// A job that has ended, while it has a row (retention.hpp).

#include <cstdint>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/state/jobs/finished_job.hpp"

namespace gpuctl {

// How a finished job is kept (ADR 0030). A summary has no row: FinishedJobs holds it.
//
//   open ──the job has ended──> in_full ──newer jobs ended──> (summary) ──too many, too old──> gone
//    ^                           │   ^                            │
//    └─────── another pod ───────┘   │ the job has ended          │ another pod, or it is deleted
//                                    └────── returned <───────────┘
enum class RetentionPhase : std::uint8_t { open, in_full, returned };

struct RetentionRow {
    Instant ended_at;         // when the job ended (finished_job.hpp); or never
    Boxed<FinishedJob> past;  // its summary, from which it returned

    // What the fields mean; other code should ask for it.
    [[nodiscard]] RetentionPhase phase() const {
        if (ended_at.happened()) return RetentionPhase::in_full;
        return past ? RetentionPhase::returned : RetentionPhase::open;
    }
};

}  // namespace gpuctl
