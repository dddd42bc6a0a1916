#pragma once
// The planners of the papers whose figures docs/replays.md compares with. They do not use the
// engine: they validate the replay world against the published figures, and are the baselines.

#include <memory>
#include <vector>

#include "sim/replay/world.hpp"

namespace gpuctl::reference {

// In order of submission; the first job that does not fit blocks all jobs behind it. No preemption.
std::unique_ptr<replay::Policy> make_fifo();

// At every event all jobs are sorted and placed greedily into an empty cluster; jobs that do not
// fit are skipped (Muri's simulator). Both planners read true run times.
std::unique_ptr<replay::Policy> make_srtf();  // least remaining time
std::unique_ptr<replay::Policy> make_srsf();  // least remaining time x GPUs

// Tiresias' discretised two-dimensional LAS: when the GPU time that a job has used passes a
// threshold, the job moves to the next queue. Within a queue the order is that of submission.
struct TiresiasSettings {
    std::vector<std::int64_t> thresholds_gpu_ms;  // ascending
};
std::unique_ptr<replay::Policy> make_tiresias(TiresiasSettings settings);

// EASY backfill: the head of the queue has a reservation computed from the limits of running jobs.
// Other jobs start if they do not delay it, in order of submission or (SJBF) with the shortest
// limit first.
enum class BackfillOrder : std::uint8_t { submitted, shortest };
std::unique_ptr<replay::Policy> make_easy(BackfillOrder order);

// Lets `inner` decide only at multiples of `period` since the begin of the trace.
std::unique_ptr<replay::Policy> make_in_rounds(std::unique_ptr<replay::Policy> inner,
                                               Duration period);

}  // namespace gpuctl::reference
