#pragma once
// The planners of the papers whose figures docs/replays.md compares with. They do not use our
// engine: they validate the replay world against the published figures, and are the baselines.

#include <memory>
#include <vector>

#include "sim/replay/world.hpp"

namespace gpuctl::reference {

// In order of submission; the first job that does not fit blocks all behind it. No preemption.
std::unique_ptr<replay::Policy> make_fifo();

// All jobs sorted at every event, placed greedily from an empty cluster, what does not fit is
// passed over (Muri's simulator). Both read true run times.
std::unique_ptr<replay::Policy> make_srtf();  // least remaining time
std::unique_ptr<replay::Policy> make_srsf();  // least remaining time x GPUs

// Tiresias' discretised two-dimensional LAS: a job sinks from queue to queue as the GPU time it got
// passes the thresholds; inside a queue the earlier submitted goes first.
struct TiresiasSettings {
    std::vector<std::int64_t> thresholds_gpu_ms;  // rising
};
std::unique_ptr<replay::Policy> make_tiresias(TiresiasSettings settings);

// EASY backfill: the queue's head has a reservation made from the limits of what runs; others start
// if they do not delay it, the earliest submitted first or (SJBF) the shortest limit first.
enum class BackfillOrder : std::uint8_t { submitted, shortest };
std::unique_ptr<replay::Policy> make_easy(BackfillOrder order);

// Lets `inner` decide only at whole multiples of `period` since the trace's begin.
std::unique_ptr<replay::Policy> make_in_rounds(std::unique_ptr<replay::Policy> inner,
                                               Duration period);

}  // namespace gpuctl::reference
