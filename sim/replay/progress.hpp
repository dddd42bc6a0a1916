#pragma once
// Progress of a job, and the cost of its starts.

#include <cstdint>

#include "sim/replay/trace.hpp"

namespace gpuctl::replay {

enum class Overhead : std::uint8_t {
    clean,  // default: a start, a resumption or a resize costs the job's own overhead once
    // For calibration: at every event of the world a running job loses its restart cost of the
    // progress since the last event. Its end, once it is due, is not delayed by that.
    muri,
};

class Progress {
public:
    // `curve`: the job runs on any size of it; nullptr: the job runs on job.gpus only, for job.run.
    Progress(const TraceJob& job, const Curve* curve) : job_(&job), curve_(curve) {}

    void start_on(std::int32_t gpus, Overhead rule);
    void advance(Duration elapsed, Overhead rule);

    // Remaining time on the current size without interruption.
    [[nodiscard]] Duration until_finished() const { return start_left_ + remaining_work_on(gpus_); }
    // Remaining time on this size without the cost of a start.
    [[nodiscard]] Duration remaining_work_on(std::int32_t gpus) const;
    [[nodiscard]] bool can_run_on(std::int32_t gpus) const;

private:
    [[nodiscard]] Duration epoch_left_on(std::int32_t gpus) const;

    // The part of an epoch that is done, in integers, so that a replay is the same on every
    // machine. The unit is so small that a change of size loses less than a millisecond of the
    // longest epoch.
    static constexpr std::int64_t kEpochParts = 1'000'000'000;

    const TraceJob* job_;
    const Curve* curve_;
    std::int32_t gpus_ = 0;
    bool started_ = false;
    Duration start_left_;          // remaining cost of the present start
    Duration done_;                // work done, without a curve
    std::size_t epoch_ = 0;        // with a curve
    std::int64_t epoch_done_ = 0;  // in units of 1 / kEpochParts
};

}  // namespace gpuctl::replay
